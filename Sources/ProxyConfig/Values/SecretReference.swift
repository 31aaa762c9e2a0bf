/// Where a secret is kept; the secret itself is read by ``SecretResolver``.
package enum SecretReference: Sendable, Hashable {
    /// An absolute path.
    case file(String)
    /// An environment variable.
    case environment(String)
    /// A file in `$CREDENTIALS_DIRECTORY`.
    case credential(String)
    /// An absolute path and its arguments; there is no shell.
    case exec([String])
    /// The secret itself, for trying things out.
    case literal(String)

    /// What a secret looks like; said instead of the text found, which may be a real secret.
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

    /// The reference as it is written, which may be a secret or have one in it.
    package var text: String {
        switch self {
        case .file, .environment, .credential: description
        case .exec(let command): "exec:" + command.joined(separator: " ")
        case .literal(let secret): "literal:" + secret
        }
    }

    /// Whether it is a file that is looked at, at no cost worth the name.
    package var isFile: Bool {
        switch self {
        case .file, .credential: true
        case .environment, .exec, .literal: false
        }
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
    /// The reference as it is written, with a literal's text left out.
    package var description: String {
        switch self {
        case .file(let path): "file:\(path)"
        case .environment(let name): "env:\(name)"
        case .credential(let name): "cred:\(name)"
        // Arguments are left out: people do put passwords there.
        case .exec(let command): "exec:\(command.first ?? "")"
        case .literal: "literal:…"
        }
    }

    package var debugDescription: String { description }

    /// Without children, so that `dump` and a string of an enclosing value stay silent too.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
