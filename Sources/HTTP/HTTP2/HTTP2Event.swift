package import NetproxyHTTP1
package import NetproxyHTTPMessage

/// An event of one connection, in order of arrival.
package enum HTTP2Event: Sendable {
    /// A request; `ends` if it has no content.
    case request(Int32, RequestHead, ends: Bool)
    /// A response, interim or final; `ends` if it has no content.
    case response(Int32, ResponseHead, ends: Bool)
    /// A refused message, with the readable part of a request.
    case malformed(Int32, HTTP2Fault, RefusedRequest?)
    /// Content, as a range of the received bytes.
    case content(Int32, Range<Int>)
    /// The message is complete.
    case ended(Int32, trailers: HTTPHeaders?)
    /// A stream is closed.
    case closed(Int32, HTTP2Code)
    /// This number of bytes of queued content has been sent.
    case sent(Int32, Int)
    /// The peer responds to no later streams.
    case goAway(last: Int32, HTTP2Code)
    /// The settings of the peer.
    case settings
    /// The acknowledgment of a PING.
    case pong
}

/// The readable part of a refused request, for the record and for the form of the response.
package struct RefusedRequest: Sendable {
    package let line: (method: HTTPMethod, path: String)?
    package let contentType: String?
}
