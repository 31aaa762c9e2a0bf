import NetproxyBytes
import NetproxyEventIO
import TestSupport
import Testing

@Suite struct StreamSocketTests {
    /// Runs `body` on the loop with a socket connected to an origin.
    private func withSocket<Result: Sendable>(
        to origin: OriginServer,
        _ body: @escaping @Sendable (StreamSocket) async throws -> Result
    ) async throws -> Result {
        let loop = try TestLoop.shared()
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: UInt16(origin.port)))
        return try await Task(executorPreference: loop) {
            let socket = try await Dialer.connect(
                to: address,
                on: loop,
                until: loop.deadline(after: Wire.patience)
            )
            defer { socket.close() }
            return try await body(socket)
        }.value
    }

    @Test func `a socket writes and reads bytes`() async throws {
        let origin = try await OriginServer.start { wire in
            try await wire.send(try await wire.read(through: "ping"))
            try await wire.rest()
        }
        let text = try await withSocket(to: origin) { socket in
            let output = OutputBuffer()
            output.append("pi")
            try await socket.write(output, ByteSlice("ng"), until: .max)
            let buffer = ReadBuffer()
            var text = ""
            while text.utf8.count < 4 {
                _ = try await socket.read(into: buffer, until: .max)
                text += String(decoding: buffer.span.array, as: UTF8.self)
                buffer.consume(buffer.count)
            }
            return text
        }
        #expect(text == "ping")
    }

    @Test func `a read throws a reset that arrived together with bytes`() async throws {
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "go")
            // In one turn of the loop, which the reader shares, so that one edge covers both.
            try await wire.send("last words")
            try await wire.reset()
        }
        let failure = try await withSocket(to: origin) { socket -> IOError? in
            let output = OutputBuffer()
            output.append("go")
            try await socket.write(output, until: .max)
            let buffer = ReadBuffer()
            let deadline = socket.loop.deadline(after: Wire.patience)
            do throws(IOError) {
                while try await socket.read(into: buffer, until: deadline) > 0 {}
                return nil
            } catch {
                return error
            }
        }
        #expect(failure == .closedByPeer)
    }

    @Test func `a reset that arrived together with bytes is noticed without a reader`() async throws
    {
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "go")
            try await wire.send("last words")
            try await wire.reset()
        }
        let noticed = Gate()
        try await withSocket(to: origin) { socket in
            socket.onPeerClosed = { noticed.open() }
            let output = OutputBuffer()
            output.append("go")
            try await socket.write(output, until: .max)
            let buffer = ReadBuffer()
            let deadline = socket.loop.deadline(after: Wire.patience)
            _ = try await socket.read(into: buffer, until: deadline)
            try await noticed.wait()
        }
    }

    @Test func `a read after a write failed with a reset returns the end`() async throws {
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "go")
            try await wire.send("last words")
            try await wire.reset()
        }
        let failure = try await withSocket(to: origin) { socket -> IOError? in
            let output = OutputBuffer()
            output.append("go")
            try await socket.write(output, until: .max)
            let buffer = ReadBuffer()
            let deadline = socket.loop.deadline(after: Wire.patience)
            _ = try await socket.read(into: buffer, until: deadline)
            // The reset may still be in flight. The loop does not turn, so a write reports it.
            await #expect(throws: IOError.closedByPeer) {
                for _ in 0..<1_000_000 { try await socket.write(output, until: deadline) }
            }
            do throws(IOError) {
                while try await socket.read(into: buffer, until: deadline) > 0 {}
                return nil
            } catch {
                return error
            }
        }
        // The kernel has already reported the error, so the read returns the end of the stream.
        #expect(failure == nil)
    }

    @Test func `a write larger than the kernel buffer arrives complete`() async throws {
        let size = 8 << 20
        let arrived = Gate()
        let origin = try await OriginServer.start { wire in
            let text = try await wire.rest().text
            #expect(text.utf8.count == size)
            arrived.open()
        }
        try await withSocket(to: origin) { socket in
            let body = ByteSlice([UInt8](repeating: 0x78, count: size))
            try await socket.write(
                OutputBuffer(),
                body,
                until: socket.loop.deadline(after: Wire.patience)
            )
        }
        try await arrived.wait()
    }

    @Test func `a half-closed connection can still be read`() async throws {
        let origin = try await OriginServer.start { wire in
            try await wire.rest()
            try await wire.send("after the end")
        }
        let text = try await withSocket(to: origin) { socket in
            socket.shutdownWriting()
            let buffer = ReadBuffer()
            var text = ""
            while try await socket.read(into: buffer, until: .max) > 0 {
                text += String(decoding: buffer.span.array, as: UTF8.self)
                buffer.consume(buffer.count)
            }
            return text
        }
        #expect(text == "after the end")
    }

    @Test func `bytes that share an edge with the end are not lost`() async throws {
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "go")
            try await wire.send("last")
            try await wire.close()
        }
        let counts = try await withSocket(to: origin) { socket in
            let closed = Gate()
            socket.onPeerClosed = { closed.open() }
            let output = OutputBuffer()
            output.append("go")
            try await socket.write(output, until: .max)
            // Reads only after both have arrived.
            try await closed.wait()
            let buffer = ReadBuffer()
            let first = try await socket.read(into: buffer, until: .max)
            return [first, try await socket.read(into: buffer, until: .max)]
        }
        #expect(counts == [4, 0])
    }

    @Test func `a reset is an error, not the end of the stream`() async throws {
        let origin = try await OriginServer.start { wire in
            // Not before the client is connected.
            try await wire.read(through: "go")
            try await wire.reset()
        }
        await #expect(throws: IOError.closedByPeer) {
            _ = try await withSocket(to: origin) { socket in
                let (output, buffer) = (OutputBuffer(), ReadBuffer())
                output.append("go")
                try await socket.write(output, until: .max)
                return try await socket.read(into: buffer, until: .max)
            }
        }
    }

    @Test func `a read ends at its deadline, and the socket stays usable`() async throws {
        let late = Gate()
        let origin = try await OriginServer.start { wire in
            try await late.wait()
            try await wire.send("x")
            try await wire.rest()
        }
        let count = try await withSocket(to: origin) { socket in
            let buffer = ReadBuffer()
            do throws(IOError) {
                _ = try await socket.read(
                    into: buffer,
                    until: socket.loop.deadline(after: .milliseconds(5))
                )
                return -1
            } catch {
                guard error == .timedOut else { return -2 }
            }
            late.open()
            return try await socket.read(into: buffer, until: .max)
        }
        #expect(count == 1)
    }

    @Test func `a write to a peer that does not read ends at its deadline`() async throws {
        let over = Gate()
        let origin = try await OriginServer.start { _ in try await over.wait() }
        await #expect(throws: IOError.timedOut) {
            try await withSocket(to: origin) { socket in
                let body = ByteSlice([UInt8](repeating: 0x78, count: 32 << 20))
                try await socket.write(
                    OutputBuffer(),
                    body,
                    until: socket.loop.deadline(after: .milliseconds(50))
                )
            }
        }
        over.open()
    }

    @Test func `an abort ends a wait`() async throws {
        let origin = try await OriginServer.start { wire in try await wire.rest() }
        await #expect(throws: IOError.aborted) {
            try await withSocket(to: origin) { socket in
                let bound = LoopBound(socket, on: socket.loop)
                socket.loop.submit { bound.value.abort() }
                try await socket.waitReadable(until: .max)
            }
        }
    }
}
