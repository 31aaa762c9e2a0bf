import NetproxyBytes
import NetproxyEventIO
import NetworkCore
import Synchronization
import TestSupport
import Testing

@testable import NetproxyPath

/// The idle timeout of a tunnel, which expires only if neither direction has traffic.
@Suite struct TunnelTests {
    /// One scripted end of a tunnel.
    private final class ScriptedStream: DuplexStream {
        private let onRead: @Sendable (_ number: Int) async throws -> String?
        private let onWrite: @Sendable () async throws -> Void
        private let reads = Atomic(0)
        private let closed = Atomic(false)

        init(
            read: @escaping @Sendable (Int) async throws -> String?,
            write: @escaping @Sendable () async throws -> Void = {}
        ) {
            (onRead, onWrite) = (read, write)
        }

        var isClosed: Bool { closed.load(ordering: .relaxed) }

        func read() async throws -> ByteSlice? {
            let number = reads.add(1, ordering: .relaxed).oldValue
            return try await onRead(number).map { ByteSlice($0) }
        }

        func write(_ bytes: ByteSlice) async throws { try await onWrite() }

        func finishWriting() {}

        func close() { closed.store(true, ordering: .relaxed) }
    }

    private static let silence = NetworkError(
        .connectionReadTimeout,
        side: .upstream,
        detail: "nothing came"
    )

    /// Runs a tunnel with an idle timeout of ten seconds, and returns the reason for its end.
    private func run(
        _ ends: @escaping @Sendable (EventLoop) -> (app: ScriptedStream, upstream: ScriptedStream)
    ) async throws -> ErrorKind? {
        let loop = try EventLoop(index: 97)
        try loop.start()
        defer { loop.stop() }
        return await Task(executorPreference: loop) {
            let tunnel = Tunnel(on: loop, idle: TimeSetting("timeouts.idle", .seconds(10)))
            let (app, upstream) = ends(loop)
            await tunnel.run(app: app, upstream: upstream)
            #expect(app.isClosed && upstream.isClosed)
            return tunnel.failure?.kind
        }.value
    }

    @Test func `a write to one end counts as activity`() async throws {
        let written = Gate()
        let failure = try await run { loop in
            let app = ScriptedStream { $0 == 0 ? "word" : nil }
            let upstream = ScriptedStream { number in
                try await written.wait()
                if number == 0 { throw TunnelTests.silence }
                return nil
            } write: {
                loop.advance(by: .seconds(11))
                written.open()
            }
            return (app, upstream)
        }
        #expect(failure == nil)
    }

    @Test func `a read from the other end counts as activity before it is written`() async throws {
        let (writing, timedOut) = (Gate(), Gate())
        let failure = try await run { loop in
            let app = ScriptedStream { number in
                if number == 0 { loop.advance(by: .seconds(11)) }
                return number == 0 ? "word" : nil
            }
            let upstream = ScriptedStream { number in
                try await writing.wait()
                if number == 0 { throw TunnelTests.silence }
                timedOut.open()
                return nil
            } write: {
                writing.open()
                try await timedOut.wait()
            }
            return (app, upstream)
        }
        #expect(failure == nil)
    }

    @Test func `both ends of an idle tunnel are closed`() async throws {
        let waiting = Gate()
        let failure = try await run { loop in
            let app = ScriptedStream { _ in
                waiting.open()
                return nil
            }
            let upstream = ScriptedStream { _ in
                try await waiting.wait()
                loop.advance(by: .seconds(11))
                throw TunnelTests.silence
            }
            return (app, upstream)
        }
        #expect(failure == .connectionReadTimeout)
    }
}
