import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyRequestLog
import NetworkCore

/// One request of a client and its response: on a connection in HTTP/1, or on a stream in HTTP/2.
///
/// The code that carries a request through netproxy serves both.
protocol DownstreamExchange: AnyObject, SendableMetatype {

    /// The current request.
    var request: CurrentRequest { get set }
    var peer: SocketPeer { get }
    /// The connection, by which the requests of one client are recognized.
    var sender: ObjectIdentifier { get }
    /// The listener of the connection.
    var listener: ListenerSource { get }
    /// The local address of the connection.
    var localAddress: SocketAddress? { get }
    /// The progress of the connection's shutdown.
    var shutdown: DownstreamState.Shutdown { get }
    /// Forwards interim responses to the client.
    var interim: InterimWriter? { get }
    /// The connection, which can become a tunnel; `nil` for a stream.
    var connection: DownstreamConnection? { get }
    /// The version of the request, for `Via`.
    var version: HTTPVersion { get }

    /// Takes the head of the request, or `unreadHead` if it was refused.
    func takeHead() -> RequestHead

    /// A substitute for a head that was refused or incomplete.
    var unreadHead: RequestHead { get }

    /// The request line of a refused head; `nil` if it cannot be read.
    var requestLine: RequestHead? { get }

    /// Returns the content of the current request.
    func requestBody(_ framing: BodyFraming) -> HTTPBody

    /// Waits briefly for the rest of the content.
    func gather(_ body: HTTPBody) async throws(NetworkError) -> HTTPBody

    /// Whether an interim response is being written.
    var isWritingInterim: Bool { get }

    /// Returns when no interim response is being written.
    func interimWritten() async

    /// Sends an interim response, unless the final one has begun.
    func writeInterim(_ status: HTTPStatus, _ headers: HTTPHeaders) async throws

    /// Writes the part of a response that can be written at once; `finishResponse` writes the rest.
    func beginResponse(
        _ response: borrowing Response,
        to head: borrowing RequestHead,
        _ persistence: Persistence
    ) -> WrittenResponse

    /// Writes the rest of a begun response.
    func finishResponse() async -> WrittenResponse

    /// Whether another request may follow the response.
    var persists: Bool { get }

    /// Ends the connection or stream so that the client can still read the response.
    func closeAfterLingering() async

    /// Ends the exchange so that no client takes the partial response for a complete one.
    func reset()
}

/// The progress of a response to the client.
struct WrittenResponse {
    var state: ResponseWriter.State
    /// The number of content bytes sent to the client.
    var bytesOut = 0
    /// Whether the client may have received a part of the head.
    var isHeadOut = false
    /// The rare parts, in an object of their own, so that most responses are moved without them.
    private var rest: Epilogue?

    private final class Epilogue {
        let trailers: HTTPHeaders?
        let fault: (any Error)?

        init(_ trailers: HTTPHeaders?, _ fault: (any Error)?) {
            self.trailers = trailers
            self.fault = fault
        }
    }

    /// The trailer fields after the content.
    var trailers: HTTPHeaders? { rest?.trailers }
    /// The error that ended the response early.
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
        rest = Epilogue(nil, fault)
    }

    /// Records that the response ended early.
    mutating func fail(_ fault: any Error) {
        state = .broken
        rest = Epilogue(nil, fault)
    }

    /// Records that the response is complete.
    mutating func finish(_ trailers: HTTPHeaders?) {
        state = .done
        if let trailers { rest = Epilogue(trailers, nil) }
    }
}
