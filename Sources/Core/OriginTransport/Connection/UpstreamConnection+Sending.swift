import NetproxyEventIO
import NetworkCore

/// The request side: sends the head, and the content if it is in memory.
extension UpstreamConnection {
    /// Begins to write a request; returns the part that the kernel has not accepted yet.
    @inline(never)
    func start(_ request: consuming Request) throws -> RequestWriter.Unsent? {
        do throws(IOError) {
            return try RequestWriter.start(consume request, over: socket, to: peer)
        } catch {
            try forgive(error)
            return nil
        }
    }

    /// Writes the rest of a request.
    func send(_ rest: RequestWriter.Unsent, until limit: UInt64) async throws {
        do throws(IOError) {
            try await abortable { [socket, peer] in
                await IOError.thrown { () async throws(IOError) in
                    try await RequestWriter.finish(rest, over: socket, to: peer, until: limit)
                }
            }
        } catch {
            try forgive(error)
        }
    }

    /// Ignores a close while the request is being sent.
    ///
    /// The origin may have responded before it closed, so the connection still reads a response.
    private func forgive(_ error: IOError) throws {
        guard error == .closedByPeer else { throw fault(error, in: .sending) }
        mayReuse = false
    }
}
