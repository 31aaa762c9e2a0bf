import NetproxyBytes
import NetproxyHTTPMessage

/// The messages that every workload is made of: what an app, a channel and an origin say of a small
/// GET.
enum Messages {
    /// What curl, a browser's fetch and a tracing library send together.
    static let request = Array(
        """
        GET /plain/v1/orders?page=2 HTTP/1.1\r
        Host: localhost:8080\r
        User-Agent: orders/3.2 (Linux x86_64)\r
        Accept: application/json\r
        Accept-Encoding: gzip, br\r
        Cache-Control: no-cache\r
        Connection: keep-alive\r
        X-Correlation: 61x4skbb02wsm14\r
        \r

        """.utf8
    )

    /// What nginx answers.
    static let response = Array(
        """
        HTTP/1.1 200 OK\r
        Server: nginx/1.22.1\r
        Date: Sat, 21 Nov 2026 10:00:00 GMT\r
        Content-Type: application/json\r
        Content-Length: 714\r
        Connection: keep-alive\r
        ETag: "5f3a2b1c-2ca"\r
        Cache-Control: private, max-age=60\r
        \r

        """.utf8
    )

    /// A request head with so many fields of 30 bytes each beside Host.
    static func request(fields: Int) -> [UInt8] {
        var text = "GET /plain/v1/orders HTTP/1.1\r\nHost: localhost:8080\r\n"
        for number in 0..<fields {
            text += "X-Field-\(1000 + number): value-of-\(1000 + number)\r\n"
        }
        return Array((text + "\r\n").utf8)
    }

    /// The length of a JSON Web Token with a few claims.
    static let token = String(repeating: "A", count: 900)

    /// What a channel adds where the app said nothing.
    static let defaults: HTTPHeaders = [
        "X-Client": "benchmark", "X-App-Version": "1.2.3", "Accept-Language": "en",
    ]
}
