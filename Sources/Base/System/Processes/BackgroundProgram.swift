import Glibc

/// A program that runs on its own once it has started, such as a browser.
package enum BackgroundProgram {
    /// Starts a program in a new process group, so that Ctrl-C does not end it.
    ///
    /// Its input is empty and its output is discarded.
    ///
    /// - Parameters:
    ///   - command: the program, found through `PATH`, and its arguments.
    ///   - environment: its complete environment.
    /// - Returns: whether it was started.
    package static func start(_ command: [String], environment: [String: String]) -> Bool {
        // SAFETY: the path is valid during the call.
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
            // The exit status is irrelevant, but the system keeps the process entry until it is read.
            _ = startThread(named: "reaper") { _ = waitpid(process, nil, 0) }
            return true
        } catch {
            return false
        }
    }
}
