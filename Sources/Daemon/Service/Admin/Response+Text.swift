import NetproxyBytes
package import NetproxyHTTPMessage
package import NetworkCore

extension Response {
    /// A JSON answer.
    package static func json(_ status: HTTPStatus, _ text: String) -> Response {
        Response(
            status: status,
            headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: .bytes(ByteSlice(text + "\n"))
        )
    }

    /// A text answer.
    static func text(_ status: HTTPStatus, _ text: String) -> Response {
        Response(
            status: status,
            headers: [.contentType: "text/plain; charset=utf-8"],
            body: .bytes(ByteSlice(text))
        )
    }
}
