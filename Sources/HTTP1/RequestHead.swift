package import HTTPMessage

/// A request without its body, checked.
///
/// `headers` still holds everything that came, framing and hop-by-hop fields included.
package struct RequestHead: Sendable {
    package var method: HTTPMethod
    package var target: RequestTarget
    package var version: HTTP1Version
    package var headers: HTTPHeaders
    /// Never `untilClose`.
    package var framing: BodyFraming
    /// Whether the sender lets another request follow.
    package var keepAlive: Bool
    /// Whether the sender waits for 100 (Continue) before it sends the body.
    package var expectsContinue: Bool
    /// The Host field, which equals the target's authority in absolute-form.
    ///
    /// Without a Host (HTTP/1.0) the target's authority, where it has one.
    package var host: Authority?
}
