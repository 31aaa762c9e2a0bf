import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetworkCore

/// The exchange of one request over HTTP/1.
extension DownstreamConnection: DownstreamExchange {
    var sender: ObjectIdentifier { ObjectIdentifier(self) }
    var localAddress: SocketAddress? { socket.localAddress }
    var shutdown: DownstreamState.Shutdown { state.shutdown }
    var interim: InterimWriter? { service?.interim }
    var connection: DownstreamConnection? { self }
    var version: HTTPVersion { .http11 }
    var isWritingInterim: Bool { state.phase == .interim }
    var persists: Bool { state.persists }

    func beginResponse(
        _ response: borrowing Response,
        to head: borrowing RequestHead,
        _ persistence: Persistence
    ) -> WrittenResponse {
        var writer = ResponseWriter(response, to: head, persistence, on: self)
        do throws(NetworkError) {
            try writer.start()
        } catch {
            return WrittenResponse(writer, error)
        }
        let written = WrittenResponse(writer)
        if written.state != .done { pendingResponse = PendingResponse(writer) }
        return written
    }

    func finishResponse() async -> WrittenResponse {
        guard var writer = pendingResponse.take()?.take() else { return WrittenResponse(.done) }
        do {
            try await writer.finish()
            return WrittenResponse(writer)
        } catch {
            return WrittenResponse(writer, error)
        }
    }
}
