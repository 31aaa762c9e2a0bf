import Foundation
import Glibc

/// Runs the program of an `exec:` secret.
enum SecretHelper {
    static let outputLimit = 64 * 1024
    static let timeLimit = Duration.seconds(10)

    /// Runs the command without a shell and returns what it printed.
    ///
    /// A helper that exceeds 10 s or 64 KiB is killed, as is one whose caller is cancelled.
    static func run(
        _ command: [String],
        environment: [String: String],
        within limit: Duration = timeLimit
    ) async throws(SecretError) -> [UInt8] {
        guard let path = command.first, path.hasPrefix("/") else {
            throw SecretError("a helper needs an absolute path")
        }
        let (events, sink) = AsyncStream<Event>.makeStream()
        let pipe = Pipe()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = Array(command.dropFirst())
        process.environment = environment
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe
        process.terminationHandler = { sink.yield(.exited($0.terminationStatus)) }
        do {
            try process.run()
        } catch {
            throw SecretError("cannot run \(path)")
        }
        let output = pipe.fileHandleForReading
        Thread.detachNewThread { forward(output, to: sink) }
        let identifier = process.processIdentifier
        let outcome = await firstOutcome(of: events, path: path, within: limit)
        if process.isRunning { kill(identifier, SIGKILL) }
        return try outcome.get()
    }

    private enum Event: Sendable {
        case output([UInt8])
        case closed
        case exited(Int32)
    }

    /// Reads until the end on a thread of its own.
    ///
    /// A `readabilityHandler` of Foundation on Linux is not called when the pipe closes. The thread
    /// ends with the pipe, or with the first read after nobody listens any more.
    private static func forward(
        _ output: FileHandle,
        to sink: AsyncStream<Event>.Continuation
    ) {
        while true {
            let data = output.availableData
            let result = sink.yield(data.isEmpty ? .closed : .output(Array(data)))
            if data.isEmpty { return }
            if case .terminated = result { return }
        }
    }

    private static func firstOutcome(
        of events: AsyncStream<Event>,
        path: String,
        within limit: Duration
    ) async -> Result<[UInt8], SecretError> {
        await withTaskGroup(of: Result<[UInt8], SecretError>.self) { group in
            group.addTask { await collect(events, path: path) }
            group.addTask {
                // A cancelled sleep ends the wait just as well: its outcome is not looked at.
                try? await Task.sleep(for: limit)
                return .failure(SecretError("\(path) did not finish within \(limit)"))
            }
            defer { group.cancelAll() }
            return await group.next() ?? .failure(SecretError("\(path) did not run"))
        }
    }

    private static func collect(
        _ events: AsyncStream<Event>,
        path: String
    ) async -> Result<[UInt8], SecretError> {
        var output: [UInt8] = []
        var closed = false
        var status: Int32?
        for await event in events {
            switch event {
            case .output(let bytes): output += bytes
            case .closed: closed = true
            case .exited(let code): status = code
            }
            guard output.count <= outputLimit else {
                return .failure(SecretError("\(path) printed more than 64KiB"))
            }
            guard closed, let status else { continue }
            guard status == 0 else {
                return .failure(SecretError("\(path) failed with status \(status)"))
            }
            return .success(output)
        }
        return .failure(SecretError("\(path) was cancelled"))
    }
}
