import ArgumentParser

/// The exit codes of contract section 1.
enum ExitStatus {
    /// No daemon answers.
    static let unavailable = ExitCode(69)
    /// The configuration is wrong.
    static let configuration = ExitCode(78)
}
