/// A reference to a secret, which the daemon reads on demand.
package enum SecretReference: Sendable, Hashable {
    /// The absolute path of a file.
    case file(String)
    /// The name of an environment variable.
    case environment(String)
    /// The name of a file in `$CREDENTIALS_DIRECTORY`.
    case credential(String)
    /// The absolute path of a program and its arguments; it runs without a shell.
    case exec([String])
    /// The secret itself, for experiments.
    case literal(String)

    /// The error message, which does not repeat the text, since it may be a secret.
    static let expectation = """
        a secret is written file:/path, env:NAME, cred:NAME, exec:/path arg or literal:text
        """

    package init?(text: String) {
        guard let colon = text.firstIndex(of: ":") else { return nil }
        let rest = String(text[text.index(after: colon)...])
        switch text[..<colon] {
        case "file" where rest.hasPrefix("/"):
            self = .file(rest)
        case "env" where !rest.isEmpty && rest.utf8.allSatisfy(Self.isNameByte):
            self = .environment(rest)
        case "cred" where !rest.isEmpty && !rest.contains("/") && rest != "." && rest != "..":
            self = .credential(rest)
        case "exec" where rest.hasPrefix("/"):
            self = .exec(rest.split(separator: " ").map(String.init))
        case "literal" where !rest.isEmpty:
            self = .literal(rest)
        default:
            return nil
        }
    }

    /// The reference as written, which may be or contain a secret.
    package var text: String {
        switch self {
        case .file, .environment, .credential: description
        case .exec(let command): "exec:" + command.joined(separator: " ")
        case .literal(let secret): "literal:" + secret
        }
    }

    /// Whether the secret is in a file, which is cheap to read again.
    package var isFile: Bool {
        switch self {
        case .file, .credential: true
        case .environment, .exec, .literal: false
        }
    }

    /// Whether a program prints the secret.
    package var isProgram: Bool {
        if case .exec = self { true } else { false }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

extension SecretReference: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
{
    /// The reference as written, without a literal's text or a program's arguments.
    package var description: String {
        switch self {
        case .file(let path): "file:\(path)"
        case .environment(let name): "env:\(name)"
        case .credential(let name): "cred:\(name)"
        // Arguments may contain passwords.
        case .exec(let command): "exec:\(command.first ?? "")"
        case .literal: "literal:…"
        }
    }

    package var debugDescription: String { description }

    /// A mirror without children, so that `dump` and enclosing values do not show the secret either.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
