package import NetproxyEventIO
package import NetproxyHTTP1
package import NetproxyHTTPMessage
import NetproxyRequestLog
package import NetworkCore

/// One request of an app and the way back to it: a connection in HTTP/1, or a stream in HTTP/2.
///
/// What carries a request through netproxy is written once, for both.
package protocol DownstreamExchange: AnyObject, SendableMetatype {
    typealias CurrentRequest = DownstreamConnection.CurrentRequest

    /// The request that is being read or answered.
    var request: CurrentRequest { get set }
    var peer: SocketPeer { get }
    /// The listener over which it came.
    var listener: DownstreamConnection.Source { get }
    /// The address at which the app has reached netproxy.
    var localAddress: SocketAddress? { get }
    /// Whether the connection goes on after its exchange.
    var shutdown: DownstreamState.Shutdown { get }
    /// Forwards interim responses to the app.
    var interim: InterimWriter? { get }
    /// The connection as such, which can become a tunnel; `nil` for a stream.
    var connection: DownstreamConnection? { get }
    /// What `Via` calls the version of the request.
    var version: HTTPVersion { get }

    /// Takes the head that was read, or what stands for one that was refused.
    func takeHead() -> RequestHead

    /// Stands for a head that was refused, or did not arrive in time.
    var unreadHead: RequestHead { get }

    /// The request line of a head that was refused; `nil` where it cannot be read.
    var requestLine: RequestHead? { get }

    /// The content of the request whose head was read last.
    func requestBody(_ framing: BodyFraming) -> HTTPBody

    /// Waits a moment for content that is still to come.
    func gather(_ body: HTTPBody) async throws(NetworkError) -> HTTPBody

    /// Whether an interim response is being written.
    var isWritingInterim: Bool { get }

    /// Returns when no interim response is being written.
    func interimWritten() async

    /// Sends an interim response, unless the final one has begun.
    func writeInterim(_ status: HTTPStatus, _ headers: HTTPHeaders) async throws

    /// Writes what goes out of a response at once; `finishResponse` writes the rest.
    func beginResponse(
        _ response: borrowing Response,
        to head: borrowing RequestHead,
        _ persistence: Persistence
    ) -> WrittenResponse

    /// Writes the rest of the response that was begun.
    func finishResponse() async -> WrittenResponse

    /// Whether another request may follow the response.
    var persists: Bool { get }

    /// Ends the connection, or what is left of the stream, so that the app can still read what was written.
    func closeAfterLingering() async

    /// Ends it so that no app takes what it got for a complete response.
    func reset()
}

/// How far a response is on its way to the app.
package struct WrittenResponse {
    var state: ResponseWriter.State
    /// Content bytes that went to the app.
    var bytesOut = 0
    /// Whether the app may have any of the head.
    var isHeadOut = false
    /// What only some responses have: in its own object, since all others are moved around without it.
    private var rest: Rest?

    private final class Rest {
        let trailers: HTTPHeaders?
        let fault: (any Error)?

        init(_ trailers: HTTPHeaders?, _ fault: (any Error)?) {
            self.trailers = trailers
            self.fault = fault
        }
    }

    /// The fields that followed the content.
    var trailers: HTTPHeaders? { rest?.trailers }
    /// Why it broke off.
    var fault: (any Error)? { rest?.fault }

    init(_ state: ResponseWriter.State, bytesOut: Int = 0, isHeadOut: Bool = false) {
        self.state = state
        self.bytesOut = bytesOut
        self.isHeadOut = isHeadOut
    }

    init(_ writer: borrowing ResponseWriter) {
        state = writer.state
        bytesOut = writer.bytesOut
        isHeadOut = writer.isHeadOut
    }

    init(_ writer: borrowing ResponseWriter, _ fault: any Error) {
        self.init(writer)
        rest = Rest(nil, fault)
    }

    /// It broke off.
    mutating func fail(_ fault: any Error) {
        state = .broken
        rest = Rest(nil, fault)
    }

    /// It is complete.
    mutating func finish(_ trailers: HTTPHeaders?) {
        state = .done
        if let trailers { rest = Rest(trailers, nil) }
    }
}
