import Glibc
import NetproxyBytes
import NetproxyEventIO
import TestSupport
import Testing

/// Tests of messages that wait for the end of the loop's turn, and of bytes read before a task runs.
@Suite struct PostingTests {
    /// Runs `body` on the loop with a socket connected to an origin.
    private func withSocket<Result: Sendable>(
        to origin: OriginServer,
        on loop: EventLoop? = nil,
        _ body: @escaping @Sendable (StreamSocket) async throws -> Result
    ) async throws -> Result {
        let loop = try loop ?? TestLoop.shared()
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

    private static func output(_ text: String) -> OutputBuffer {
        let output = OutputBuffer()
        output.append(text)
        return output
    }

    private static func rest(of socket: StreamSocket) async throws -> String {
        let buffer = ReadBuffer()
        let deadline = socket.loop.deadline(after: Wire.patience)
        while try await socket.read(into: buffer, until: deadline) > 0 {}
        return String(decoding: buffer.span.array, as: UTF8.self)
    }

    @Test func `a posted message is sent when the turn ends`() async throws {
        let origin = try await OriginServer.start { wire in
            try await wire.send(try await wire.read(through: "head content"))
        }
        let text = try await withSocket(to: origin) { socket in
            try #expect(
                socket.postLater(PostingTests.output("head "), ByteSlice("content"), until: .max)
            )
            #expect(socket.hasPosted)
            let text = try await PostingTests.rest(of: socket)
            #expect(!socket.hasPosted)
            return text
        }
        #expect(text == "head content")
    }

    @Test func `a posted message is sent immediately if the loop has no other work`() async throws {
        let origin = try await OriginServer.start { wire in
            try await wire.send(try await wire.read(through: "head"))
        }
        let loop = try EventLoop()
        try loop.start()
        defer { loop.stop() }
        let text = try await withSocket(to: origin, on: loop) { socket in
            try #expect(socket.post(PostingTests.output("head"), nil, until: .max))
            #expect(!socket.hasPosted)
            return try await PostingTests.rest(of: socket)
        }
        #expect(text == "head")
    }

    @Test func `a write is sent after the posted messages`() async throws {
        let origin = try await OriginServer.start { wire in
            try await wire.send(try await wire.rest().text)
        }
        let text = try await withSocket(to: origin) { socket in
            try #expect(socket.postLater(PostingTests.output("one "), nil, until: .max))
            // One message at a time: the caller must write the second one.
            try #expect(!socket.post(PostingTests.output("two "), nil, until: .max))
            try await socket.write(PostingTests.output("two "), ByteSlice("three"), until: .max)
            try #expect(socket.postLater(PostingTests.output(" four"), nil, until: .max))
            socket.shutdownWriting()
            return try await PostingTests.rest(of: socket)
        }
        #expect(text == "one two three four")
    }

    @Test(arguments: [true, false])
    func `a close sends the posted message unless it is dropped`(isDropped: Bool) async throws {
        let arrived = Gate()
        let origin = try await OriginServer.start { wire in
            try await #expect(wire.rest().text == (isDropped ? "" : "last words"))
            arrived.open()
        }
        try await withSocket(to: origin) { socket in
            try #expect(socket.postLater(PostingTests.output("last words"), nil, until: .max))
            if isDropped { socket.dropPosted() }
            socket.close()
            #expect(!socket.hasPosted)
        }
        try await arrived.wait()
    }

    @Test func `a reset discards the posted message`() async throws {
        let ended = Gate()
        let origin = try await OriginServer.start { wire in
            let text = try? await wire.rest().text
            #expect(text?.isEmpty ?? true)
            ended.open()
        }
        try await withSocket(to: origin) { socket in
            try #expect(socket.postLater(PostingTests.output("never sent"), nil, until: .max))
            socket.reset()
        }
        try await ended.wait()
    }

    @Test func `a long message, or any message to a full kernel buffer, is not posted`()
        async throws
    {
        let full = Gate()
        let origin = try await OriginServer.start { wire in
            try await full.wait()
            try await wire.rest()
        }
        try await withSocket(to: origin) { socket in
            let long = PostingTests.output(String(repeating: "x", count: 8193))
            try #expect(!socket.post(long, nil, until: .max))
            try #expect(
                !socket.post(
                    OutputBuffer(),
                    ByteSlice([UInt8](repeating: 0, count: 2049)),
                    until: .max
                )
            )
            var body: ByteSlice? = ByteSlice([UInt8](repeating: 0x78, count: 16 << 20))
            try #expect(socket.writeNow(OutputBuffer(), &body) != nil)
            try #expect(!socket.post(PostingTests.output("behind"), nil, until: .max))
            full.open()
        }
    }

    @Test func `a reader receives the error of an unsent posted message`() async throws {
        let (connected, gone) = (Gate(), Gate())
        let origin = try await OriginServer.start { wire in
            // A reset before the dialer checks the socket would fail the connection attempt.
            try await connected.wait()
            try await wire.send("answer")
            try await wire.reset()
            gone.open()
        }
        try await withSocket(to: origin) { socket in
            connected.open()
            try await gone.wait()
            try #expect(socket.postLater(PostingTests.output("too late"), nil, until: .max))
            // The response may have arrived earlier; after it, the stream ends with or without an error.
            let buffer = ReadBuffer()
            let deadline = socket.loop.deadline(after: Wire.patience)
            while let count = try? await socket.read(into: buffer, until: deadline), count > 0 {}
            #expect(String(decoding: buffer.span.array, as: UTF8.self) == "answer")
            await socket.nextTurn()
            #expect(throws: IOError.closedByPeer) {
                try socket.post(PostingTests.output("next"), nil, until: .max)
            }
        }
    }

    /// Posts messages to a peer that does not read, until the kernel accepts only a part of one.
    ///
    /// - Returns: the number of posted bytes.
    private static func fill(_ socket: StreamSocket, until deadline: UInt64) async throws -> Int {
        var count = 0
        repeat {
            let output = PostingTests.output(String(repeating: "x", count: 8192))
            let content = ByteSlice([UInt8](repeating: 0x79, count: 2048))
            guard try socket.postLater(output, content, until: deadline) else { return count }
            count += 8192 + 2048
            await socket.nextTurn()
        } while !socket.hasPosted
        return count
    }

    @Test func `the rest of a partly sent message is sent later`() async throws {
        let (full, posted, arrived) = (Gate(), Counter(), Gate())
        let origin = try await OriginServer.start { wire in
            try await full.wait()
            #expect(try await wire.rest().text.utf8.count == posted.value)
            arrived.open()
        }
        try await withSocket(to: origin) { socket in
            posted.add(try await PostingTests.fill(socket, until: .max))
            #expect(socket.hasPosted)
            full.open()
            try await socket.finishPosted(until: socket.loop.deadline(after: Wire.patience))
            socket.shutdownWriting()
            try await arrived.wait()
        }
    }

    @Test func `after a posted message times out, every call throws`()
        async throws
    {
        let ended = Gate()
        let origin = try await OriginServer.start { _ in try? await ended.wait() }
        try await withSocket(to: origin) { socket in
            let loop = socket.loop
            // On a busy machine, the deadline may pass before the kernel buffer is full.
            do {
                let deadline = loop.deadline(after: .milliseconds(1))
                _ = try await PostingTests.fill(socket, until: deadline)
            } catch IOError.timedOut {}
            let deadline = loop.deadline(after: Wire.patience)
            await #expect(throws: IOError.timedOut) {
                while try await socket.read(into: ReadBuffer(), until: deadline) > 0 {}
            }
            #expect(loop.now < deadline)
            #expect(!socket.hasPosted)
            #expect(!socket.isQuiet)
            #expect(throws: IOError.timedOut) {
                try socket.post(PostingTests.output("next"), nil, until: .max)
            }
            await #expect(throws: IOError.timedOut) {
                try await socket.finishPosted(until: deadline)
            }
            ended.open()
        }
    }

    @Test func `a later wait reports the lost message`() async throws {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue)
        try #require(unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0)
        let (ours, theirs) = (ends[0], ends[1])
        defer { close(theirs) }
        // The kernel rejects data sent from this end, and there is nothing to read here.
        shutdown(theirs, Int32(SHUT_RD))
        let loop = try EventLoop()
        try loop.start()
        defer { loop.stop() }
        let peer = try #require(SocketAddress(unixPath: "/nobody"))
        try await Task(executorPreference: loop) {
            let socket = try StreamSocket(descriptor: ours, peer: peer, on: loop)
            defer { socket.close() }
            try #expect(socket.readNow(into: ReadBuffer()) == nil)
            try #expect(socket.post(PostingTests.output("lost"), nil, until: .max))
            #expect(socket.lostPost == .closedByPeer)
            socket.probe()
            #expect(!socket.isQuiet)
            try await socket.waitReadable(until: loop.deadline(after: Wire.patience))
            #expect(throws: IOError.closedByPeer) { try socket.readNow(into: ReadBuffer()) }
        }.value
    }

    @Test func `an aborted socket does not accept messages`() async throws {
        let origin = try await OriginServer.start { wire in _ = try? await wire.rest() }
        try await withSocket(to: origin) { socket in
            socket.abort()
            #expect(throws: IOError.aborted) {
                try socket.post(PostingTests.output("nothing"), nil, until: .max)
            }
        }
    }

    @Test func `the loop reads for a waiting reader, but not the end of the stream`()
        async throws
    {
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "go")
            try await wire.send("first")
            try await wire.read(through: "on")
        }
        try await withSocket(to: origin) { socket in
            let buffer = ReadBuffer()
            let deadline = socket.loop.deadline(after: Wire.patience)
            try #expect(socket.readNow(into: buffer) == nil)
            try #expect(socket.postLater(PostingTests.output("go"), nil, until: .max))
            while buffer.count < 5 {
                try await socket.waitReadable(until: deadline, into: buffer)
                while let count = try socket.readNow(into: buffer), count > 0 {}
            }
            #expect(String(decoding: buffer.span.array, as: UTF8.self) == "first")
            try #expect(socket.postLater(PostingTests.output("on"), nil, until: .max))
            try await socket.waitReadable(until: deadline, into: buffer)
            #expect(buffer.count == 5)
            try #expect(socket.readNow(into: buffer) == 0)
        }
    }
}

extension StreamSocket {
    /// Posts while another task is ready, so that the message waits for the end of the turn.
    fileprivate func postLater(
        _ output: OutputBuffer,
        _ content: ByteSlice?,
        until deadline: UInt64
    ) throws(IOError) -> Bool {
        Task(executorPreference: loop) {}
        return try post(output, content, until: deadline)
    }

    /// Lets the loop end its turn and send the posted message.
    fileprivate func nextTurn() async {
        await withCheckedContinuation { continuation in
            loop.submit { continuation.resume() }
        }
    }
}
