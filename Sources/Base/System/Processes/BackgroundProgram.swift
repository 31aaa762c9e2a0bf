import Glibc

/// A program that is started and left alone, such as a browser.
package enum BackgroundProgram {
    /// Starts a program in a new process group, so that Ctrl-C does not end it; it reads nothing, and what
    /// it prints is dropped.
    ///
    /// - Parameters:
    ///   - command: the program, looked up in `PATH`, and its arguments.
    ///   - environment: its whole environment.
    /// - Returns: whether it was started.
    package static func start(_ command: [String], environment: [String: String]) -> Bool {
        // SAFETY: the path is lent for the call.
        let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
        guard null >= 0 else { return false }
        defer { close(null) }
        let program = ProgramStart(
            command: command,
            environment: environment,
            descriptors: [null, null, null],
            leadsGroup: true
        )
        do throws(ProgramStart.Failure) {
            let process = try program.start()
            // Its end is of no interest, but until someone asks for it the system keeps its entry.
            _ = startThread(named: "reaper") { _ = waitpid(process, nil, 0) }
            return true
        } catch {
            return false
        }
    }
}
