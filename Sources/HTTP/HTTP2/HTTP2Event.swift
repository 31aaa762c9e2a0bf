package import NetproxyHTTP1
package import NetproxyHTTPMessage

/// What a peer said on one connection, in the order in which it came.
package enum HTTP2Event: Sendable {
    /// A request; `ends` when it has no content.
    case request(Int32, RequestHead, ends: Bool)
    /// A response, interim or final; `ends` when it has no content.
    case response(Int32, ResponseHead, ends: Bool)
    /// A message that is refused. What was understood of a request's line is with it, for the record.
    case malformed(Int32, HTTP2Fault, (method: HTTPMethod, path: String)?)
    /// Content: the place of its bytes in what was received.
    case content(Int32, Range<Int>)
    /// The message is complete.
    case ended(Int32, trailers: HTTPHeaders?)
    /// Nothing more comes or goes on a stream.
    case closed(Int32, HTTP2Code)
    /// So many bytes of the content that was given to a stream are on their way.
    case sent(Int32, Int)
    /// The peer answers no stream after this one.
    case goAway(last: Int32, HTTP2Code)
    /// The peer's settings have come.
    case settings
    /// The answer to a PING.
    case pong
}
