import System

/// Runs the program of an `exec:` secret.
enum SecretHelper {
    static let outputLimit = 64 * 1024

    /// Runs the command without a shell and returns what it printed.
    ///
    /// A helper that exceeds 10 s or 64 KiB is killed, as is one whose caller is cancelled.
    static func run(
        _ command: [String],
        environment: [String: String]
    ) async throws(SecretError) -> [UInt8] {
        guard let path = command.first, path.hasPrefix("/") else {
            throw SecretError("a helper needs an absolute path")
        }
        var program = HelperProgram(command: command, environment: environment)
        program.outputLimit = outputLimit
        do {
            return try await program.run()
        } catch {
            throw SecretError("\(path) \(error)")
        }
    }
}
