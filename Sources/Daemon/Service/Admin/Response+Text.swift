import NetproxyBytes
package import NetproxyHTTPMessage
package import NetworkCore

extension Response {
    /// Returns a response with JSON.
    package static func json(_ status: HTTPStatus, _ text: String) -> Response {
        Response(
            status: status,
            headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: .bytes(ByteSlice(text + "\n"))
        )
    }

    /// Returns a response with plain text.
    static func text(_ status: HTTPStatus, _ text: String) -> Response {
        Response(
            status: status,
            headers: [.contentType: "text/plain; charset=utf-8"],
            body: .bytes(ByteSlice(text))
        )
    }
}
