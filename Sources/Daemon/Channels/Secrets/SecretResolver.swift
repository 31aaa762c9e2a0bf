import FoundationEssentials
package import NetproxyConfig
import NetproxySystem
import NetworkCore

/// The reason for an unreadable secret; the description never contains the secret.
package struct SecretError: Error, Hashable, CustomStringConvertible {
    /// The reason without the error output of a helper program.
    let outcome: String
    /// The error output of a helper program, which only the operator may read.
    let words: String?

    /// The reason with the error output of a helper program.
    package var description: String { words.map { "\(outcome) (\($0))" } ?? outcome }

    package init(_ outcome: String) {
        self.init(outcome, words: nil)
    }

    init(_ outcome: String, words: String?) {
        (self.outcome, self.words) = (outcome, words)
    }
}

/// Reads secrets from the place in a ``SecretReference``.
///
/// Files are read off the event loops, except in direct calls of `readWithoutHelper`.
package struct SecretResolver: Sendable {
    /// The permitted content of a secret.
    package enum Kind: Sendable {
        /// One line, for a header field or a form; its line end is removed.
        case line
        /// Any text, such as a key in PEM or a JSON file, byte for byte.
        case document
    }

    private static let sizeLimit = 64 * 1024

    private let environment: [String: String]
    private let readFile: @Sendable (String) throws(SecretError) -> [UInt8]

    /// Creates a resolver.
    ///
    /// - Parameters:
    ///   - environment: the variables of `env:` and `cred:`, also passed to helper programs.
    ///   - readFile: returns the bytes of the file at an absolute path.
    package init(
        environment: [String: String],
        readFile: @escaping @Sendable (String) throws(SecretError) -> [UInt8] = Self.contents
    ) {
        self.environment = environment
        self.readFile = readFile
    }

    /// Whether systemd has passed a directory of credentials to this process.
    package var hasCredentials: Bool {
        environment["CREDENTIALS_DIRECTORY"]?.hasPrefix("/") == true
    }

    /// Reads the secret.
    ///
    /// - Throws: an error if it cannot be read, is empty, or contains bytes that its kind does not allow.
    package func resolve(
        _ reference: SecretReference,
        as kind: Kind = .line
    ) async throws(SecretError) -> [UInt8] {
        try await read(reference, as: kind).bytes
    }

    /// Reads the secret, and its lifetime if a program states one.
    ///
    /// - Throws: the same errors as `resolve`.
    func read(
        _ reference: SecretReference,
        as kind: Kind
    ) async throws(SecretError) -> (bytes: [UInt8], lifetime: Duration?) {
        guard case .exec(let command) = reference else {
            let bytes = try await OffLoop.run { () throws(SecretError) in
                try readWithoutHelper(reference, kind)
            }
            return (bytes, nil)
        }
        var output = try await output(of: command)
        var lifetime: Duration?
        // A document may itself be JSON.
        if kind == .line, let printed = PrintedSecret(output) {
            (output, lifetime) = (Array(printed.token.utf8), printed.lifetime)
        }
        return (try Self.checked(output, kind, from: reference), lifetime)
    }

    /// Reads the secret without running a helper program.
    ///
    /// - Returns: the secret; for `exec:`, no bytes, after a check that the program can be run.
    package func readWithoutHelper(
        _ reference: SecretReference,
        _ kind: Kind
    ) throws(SecretError) -> [UInt8] {
        switch reference {
        case .file(let path):
            return try Self.checked(readFile(path), kind, from: reference)
        case .environment(let name):
            guard let value = environment[name] else {
                throw SecretError("environment variable \(name) is not set")
            }
            return try Self.checked(Array(value.utf8), kind, from: reference)
        case .credential(let name):
            guard let directory = environment["CREDENTIALS_DIRECTORY"], directory.hasPrefix("/")
            else {
                throw SecretError("\(reference) needs $CREDENTIALS_DIRECTORY, which is not set")
            }
            return try Self.checked(readFile("\(directory)/\(name)"), kind, from: reference)
        case .exec(let command):
            guard let path = command.first, Self.isProgram(path) else {
                throw SecretError("\(reference) is not an executable file")
            }
            return []
        case .literal(let text):
            return try Self.checked(Array(text.utf8), kind, from: reference)
        }
    }

    private static func isProgram(_ path: String) -> Bool {
        var isDirectory = false
        return FileManager.default.isExecutableFile(atPath: path)
            && FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
            && !isDirectory
    }

    /// Returns the output of a program, which runs without a shell and is killed after 10 s or 64 KiB.
    private func output(of command: [String]) async throws(SecretError) -> [UInt8] {
        guard let path = command.first, path.hasPrefix("/") else {
            throw SecretError("a helper needs an absolute path")
        }
        var program = HelperProgram(command: command, environment: environment)
        program.outputLimit = Self.sizeLimit
        do {
            return try await program.run()
        } catch {
            throw SecretError("\(path) \(error.outcome)", words: error.shownWords)
        }
    }

    /// Returns the bytes of a file of at most 64 KiB.
    package static let contents: @Sendable (String) throws(SecretError) -> [UInt8] = {
        path throws(SecretError) in
        guard !isTooLarge(path) else { throw tooLarge(path) }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw SecretError(FileProblem.unusable(path))
        }
        guard data.count <= sizeLimit else { throw tooLarge(path) }
        return Array(data)
    }

    /// Whether a file is too large; a read without this check could exhaust the memory.
    private static func isTooLarge(_ path: String) -> Bool {
        do throws(FileError) {
            return try FileStatus.of(path: path).size > sizeLimit
        } catch {
            // The read fails with a better message.
            return false
        }
    }

    private static func tooLarge(_ path: String) -> SecretError {
        SecretError("\(path) is larger than 64KiB, too large for a secret")
    }

    private static func checked(
        _ bytes: [UInt8],
        _ kind: Kind,
        from reference: SecretReference
    ) throws(SecretError) -> [UInt8] {
        switch kind {
        case .line:
            return try line(bytes, from: reference)
        case .document:
            guard !bytes.isEmpty else { throw SecretError("\(reference) is empty") }
            guard !bytes.contains(0), String(validating: bytes, as: UTF8.self) != nil else {
                throw SecretError("\(reference) is not UTF-8 text")
            }
            return bytes
        }
    }

    private static func line(
        _ bytes: [UInt8],
        from reference: SecretReference
    ) throws(SecretError) -> [UInt8] {
        var secret = bytes[...]
        if secret.last == UInt8(ascii: "\n") {
            secret.removeLast()
            if secret.last == UInt8(ascii: "\r") { secret.removeLast() }
        }
        guard !secret.isEmpty else { throw SecretError("\(reference) is empty") }
        // A line break would end the header field that carries the secret.
        guard secret.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw SecretError("\(reference) contains a line break or another control byte")
        }
        // Converting the bytes to a string would replace invalid ones.
        guard String(validating: secret, as: UTF8.self) != nil else {
            throw SecretError("\(reference) is not valid UTF-8")
        }
        // Some editors write a byte order mark, which is invisible.
        guard !secret.starts(with: [0xEF, 0xBB, 0xBF]) else {
            throw SecretError("\(reference) begins with a byte order mark; save it without one")
        }
        return Array(secret)
    }
}

/// A secret with a lifetime, in the format of an `auth.exec` helper: `{"token":"…","expires_in":3600}`.
private struct PrintedSecret: Decodable {
    let token: String
    /// The lifetime; `nil` if the program states none, or one that is not a number.
    let lifetime: Duration?

    private enum Key: String, CodingKey {
        case token
        case lifetime = "expires_in"
    }

    /// Parses the output of a program; `nil` if it is not of this form and is itself the secret.
    init?(_ output: [UInt8]) {
        guard output.first == UInt8(ascii: "{"),
            let read = try? JSONDecoder().decode(PrintedSecret.self, from: Data(output))
        else { return nil }
        self = read
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        token = try container.decode(String.self, forKey: .token)
        // Shells print numbers as text.
        let seconds =
            (try? container.decode(Double.self, forKey: .lifetime))
            ?? (try? container.decode(String.self, forKey: .lifetime)).flatMap(Double.init)
        lifetime = seconds.flatMap { seconds in
            seconds > 0 && seconds < 315_360_000 ? .seconds(seconds) : nil
        }
    }
}
