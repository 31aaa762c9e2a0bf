import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetworkCore

/// The way out: the head, and the content if it is here.
extension UpstreamConnection {
    /// What the kernel did not take at once.
    struct Unsent {
        let output: OutputBuffer
        let whole: ByteSlice?
        let offset: Int
    }

    /// What any peer has room for before it reads, in bytes: beyond it TCP's limit on silence would end
    /// connections to an origin that is only busy.
    private static let smallMessage = 4096

    /// Writes the head, and the content if it is in memory; nil if the kernel took all of it.
    ///
    /// The request is gone then, unless it is kept for another attempt: the next one is put together in
    /// its memory, while that is warm.
    @inline(never)
    func start(_ request: consuming Request) throws -> Unsent? {
        let framing: BodyFraming
        var whole: ByteSlice?
        switch request.body {
        case .empty, .tunnel: framing = .none
        case .bytes(let bytes):
            framing = .length(bytes.count)
            whole = bytes
        case .stream(_, let length): framing = length.map { .length($0) } ?? .chunked
        }
        if !request.body.isInMemory || (whole?.count ?? 0) > UpstreamConnection.smallMessage {
            socket.watchPeer(.exchange)
        }
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
            try forgive(error)
            return nil
        }
        loop.outputs.give(output)
        return nil
    }

    func send(_ rest: Unsent, until limit: UInt64) async throws {
        defer { loop.outputs.give(rest.output) }
        let idle = peer.options.idleTimeout
        do throws(IOError) {
            try await abortable { [socket] in
                await IOError.thrown { () async throws(IOError) in
                    try await socket.write(
                        rest.output,
                        rest.whole,
                        from: rest.offset,
                        idle: idle,
                        until: limit
                    )
                }
            }
        } catch {
            try forgive(error)
        }
    }

    /// Lets a close pass while the request is sent: the origin may have answered before it closed, so
    /// the head is looked for all the same.
    private func forgive(_ error: IOError) throws {
        guard error == .closedByPeer else { throw fault(error, in: .sending) }
        mayReuse = false
    }
}
