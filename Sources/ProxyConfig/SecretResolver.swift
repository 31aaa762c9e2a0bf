import FoundationEssentials
import System

/// Why a secret could not be read, in words that never contain it.
package struct SecretError: Error, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// Reads secrets from where a ``SecretReference`` says they are.
///
/// Runs where its caller runs; files are read synchronously, a helper is awaited.
package struct SecretResolver: Sendable {
    private let environment: [String: String]
    private let readFile: @Sendable (String) throws(SecretError) -> [UInt8]

    /// Creates a resolver.
    ///
    /// - Parameters:
    ///   - environment: the variables that `env:` and `cred:` look at, and that a helper gets.
    ///   - readFile: returns the bytes of the file at an absolute path.
    package init(
        environment: [String: String],
        readFile: @escaping @Sendable (String) throws(SecretError) -> [UInt8] = Self.contents
    ) {
        self.environment = environment
        self.readFile = readFile
    }

    /// Reads the secret, without its trailing newline.
    ///
    /// - Throws: when it cannot be read, is empty, or contains a control byte.
    package func resolve(_ reference: SecretReference) async throws(SecretError) -> [UInt8] {
        guard case .exec(let command) = reference else { return try read(reference) }
        let output = try await SecretHelper.run(command, environment: environment)
        return try Self.cleaned(output, from: reference)
    }

    /// Reads a secret of several lines, such as a key in PEM or a JSON file; byte for byte.
    ///
    /// - Throws: when it cannot be read, is empty, or contains a NUL.
    package func resolveDocument(
        _ reference: SecretReference
    ) async throws(SecretError) -> [UInt8] {
        let bytes: [UInt8]
        if case .exec(let command) = reference {
            bytes = try await SecretHelper.run(command, environment: environment)
        } else {
            bytes = try raw(reference)
        }
        return try Self.checkedDocument(bytes, from: reference)
    }

    /// Reads a document that needs no helper.
    func readDocument(_ reference: SecretReference) throws(SecretError) -> [UInt8] {
        if case .exec = reference { return try raw(reference) }
        return try Self.checkedDocument(raw(reference), from: reference)
    }

    /// Reads a secret that needs no helper; an `exec:` reference is only checked to be runnable.
    func read(_ reference: SecretReference) throws(SecretError) -> [UInt8] {
        if case .exec = reference { return try raw(reference) }
        return try Self.cleaned(raw(reference), from: reference)
    }

    /// The bytes as they are kept.
    private func raw(_ reference: SecretReference) throws(SecretError) -> [UInt8] {
        switch reference {
        case .file(let path):
            return try readFile(path)
        case .environment(let name):
            guard let value = environment[name] else {
                throw SecretError("environment variable \(name) is not set")
            }
            return Array(value.utf8)
        case .credential(let name):
            guard let directory = environment["CREDENTIALS_DIRECTORY"], directory.hasPrefix("/")
            else {
                throw SecretError("\(reference) needs $CREDENTIALS_DIRECTORY, which is not set")
            }
            return try readFile("\(directory)/\(name)")
        case .exec(let command):
            var isDirectory = false
            guard let path = command.first, FileManager.default.isExecutableFile(atPath: path),
                FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory),
                !isDirectory
            else { throw SecretError("\(reference) is not an executable file") }
            return []
        case .literal(let text):
            return Array(text.utf8)
        }
    }

    /// The bytes of a file, at most 64 KiB of them.
    package static let contents: @Sendable (String) throws(SecretError) -> [UInt8] = {
        path throws(SecretError) in
        guard !isTooLarge(path) else { throw tooLarge(path) }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw SecretError(UnreadableFile.words(path))
        }
        guard data.count <= SecretHelper.outputLimit else { throw tooLarge(path) }
        return Array(data)
    }

    /// Whether a file says so before it is read, which may be all of the memory.
    private static func isTooLarge(_ path: String) -> Bool {
        do throws(FileError) {
            return try FileStatus.of(path: path).size > SecretHelper.outputLimit
        } catch {
            // Whoever reads it finds out what is the matter.
            return false
        }
    }

    private static func tooLarge(_ path: String) -> SecretError {
        SecretError("\(path) is larger than 64KiB, too large for a secret")
    }

    private static func checkedDocument(
        _ bytes: [UInt8],
        from reference: SecretReference
    ) throws(SecretError) -> [UInt8] {
        guard !bytes.isEmpty else { throw SecretError("\(reference) is empty") }
        guard !bytes.contains(0), String(validating: bytes, as: UTF8.self) != nil else {
            throw SecretError("\(reference) is not a text")
        }
        return bytes
    }

    private static func cleaned(
        _ bytes: [UInt8],
        from reference: SecretReference
    ) throws(SecretError) -> [UInt8] {
        var secret = bytes[...]
        if secret.last == UInt8(ascii: "\n") {
            secret.removeLast()
            if secret.last == UInt8(ascii: "\r") { secret.removeLast() }
        }
        guard !secret.isEmpty else { throw SecretError("\(reference) is empty") }
        // A line break in a secret would end the header field it is sent in.
        guard secret.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw SecretError("\(reference) contains a line break or another control byte")
        }
        // It would be sent with other bytes in their place.
        guard String(validating: secret, as: UTF8.self) != nil else {
            throw SecretError("\(reference) is not a text in UTF-8")
        }
        // Some editors write it in front of what is meant, and nobody sees it.
        guard !secret.starts(with: [0xEF, 0xBB, 0xBF]) else {
            throw SecretError("\(reference) begins with a byte order mark; save it without one")
        }
        return Array(secret)
    }
}
