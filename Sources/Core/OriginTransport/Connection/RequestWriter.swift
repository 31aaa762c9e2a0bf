import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTP1
import NetworkCore

/// Writes the head of a request, and its content if the content is in memory.
enum RequestWriter {
    /// The part of a request that the kernel has not accepted yet.
    struct Unsent {
        let output: OutputBuffer
        let whole: ByteSlice?
        let offset: Int
    }

    /// The number of bytes that any peer can buffer before it reads.
    ///
    /// TCP's limit on silence would end the connection for a longer request if the origin is merely busy.
    private static let smallMessage = 4096

    /// Writes as much as the kernel accepts immediately; returns the rest, or `nil` if nothing is left.
    ///
    /// Releases the request unless it is kept for another attempt, so that the next request reuses its memory
    /// while it is still in the caches.
    @inline(__always)
    static func start(
        _ request: consuming Request,
        over socket: StreamSocket,
        to peer: UpstreamPeer
    ) throws(IOError) -> Unsent? {
        let framing: BodyFraming
        var whole: ByteSlice?
        switch request.body {
        case .empty, .tunnel: framing = .none
        case .bytes(let bytes):
            framing = .length(bytes.count)
            whole = bytes
        case .stream(_, let length): framing = length.map { .length($0) } ?? .chunked
        }
        if !request.body.isInMemory || (whole?.count ?? 0) > smallMessage {
            socket.watchPeer(.exchange)
        }
        let loop = socket.loop
        let output = loop.outputs.take()
        peer.encodeHead(of: request, framing, into: output)
        do throws(IOError) {
            let deadline = loop.deadline(after: peer.options.idleTimeout)
            if request.body.isInMemory, try socket.post(output, whole, until: deadline) {
                return nil
            }
            if let offset = try socket.writeNow(output, &whole) {
                return Unsent(output: output, whole: whole, offset: offset)
            }
        } catch {
            loop.outputs.give(output)
            throw error
        }
        loop.outputs.give(output)
        return nil
    }

    /// Writes the rest, and waits while the kernel is full.
    static func finish(
        _ rest: Unsent,
        over socket: StreamSocket,
        to peer: UpstreamPeer,
        until limit: UInt64
    ) async throws(IOError) {
        defer { socket.loop.outputs.give(rest.output) }
        try await socket.write(
            rest.output,
            rest.whole,
            from: rest.offset,
            idle: peer.options.idleTimeout,
            until: limit
        )
    }
}
