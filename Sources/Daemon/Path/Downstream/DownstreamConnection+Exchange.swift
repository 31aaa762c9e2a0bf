package import NetproxyEventIO
package import NetproxyHTTP1
import NetproxyHTTPMessage
package import NetworkCore

/// The way of a request over HTTP/1.
extension DownstreamConnection: DownstreamExchange {
    package var localAddress: SocketAddress? { socket.localAddress }
    package var shutdown: DownstreamState.Shutdown { state.shutdown }
    package var interim: InterimWriter? { service?.interim }
    package var connection: DownstreamConnection? { self }
    package var version: HTTPVersion { .http11 }
    package var isWritingInterim: Bool { state.phase == .interim }
    package var persists: Bool { state.persists }

    package func beginResponse(
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

    package func finishResponse() async -> WrittenResponse {
        guard var writer = pendingResponse.take()?.take() else { return WrittenResponse(.done) }
        do {
            try await writer.finish()
            return WrittenResponse(writer)
        } catch {
            return WrittenResponse(writer, error)
        }
    }
}
