import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetworkCore

/// The response fields that let the script of a listed page read a response (CORS, WHATWG Fetch §3.3).
///
/// netproxy responds instead of the API, which need not know the page: the API would refuse the preflight,
/// which has no credential, or name other origins.
enum CrossOrigin {
    /// The time for which a browser may cache the response to a preflight, in seconds; short, so that a
    /// changed configuration soon takes effect.
    private static let maximumAge = 600

    /// The upstream's fields that netproxy replaces; a browser refuses a response with duplicates.
    private static let answers: Set<HTTPFieldName> = [
        "Access-Control-Allow-Origin", "Access-Control-Allow-Credentials",
        "Access-Control-Expose-Headers",
    ]
    /// The fields that browsers hide from every page, or show to every page, regardless of the exposed
    /// names.
    private static let unexposed: Set<HTTPFieldName> = [
        .setCookie, "Set-Cookie2", .cacheControl, .contentLanguage, .contentLength, .contentType,
        .expires, .lastModified, "Pragma", .vary,
    ]
    /// The request and response fields for access to other networks (Private and Local Network Access).
    private static let networks: [(asked: HTTPFieldName, answer: HTTPFieldName)] = [
        (
            "Access-Control-Request-Private-Network", "Access-Control-Allow-Private-Network"
        ),
        ("Access-Control-Request-Local-Network", "Access-Control-Allow-Local-Network"),
    ]
    private static let requestMethod: HTTPFieldName = "Access-Control-Request-Method"
    private static let requestHeaders: HTTPFieldName = "Access-Control-Request-Headers"

    /// Whether a request is the preflight of a page's request.
    static func isPreflight(_ head: RequestHead) -> Bool {
        head.method == .options && head.headers.contains(KnownField.origin)
            && head.headers.contains(requestMethod)
    }

    /// Returns the response to a preflight of a listed page, without the fields added by `allow`.
    ///
    /// - Parameters:
    ///   - head: the preflight.
    ///   - methods: the methods that the channel allows; all of them if empty.
    /// - Returns: a response with status 204.
    static func answer(to head: RequestHead, allowing methods: [HTTPMethod]) -> Response {
        var headers = HTTPHeaders()
        var allowed = methods.map(\.rawValue)
        if methods.isEmpty {
            allowed = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
            if let asked = head.headers[requestMethod], Grammar.isToken(asked),
                !allowed.contains(asked)
            {
                allowed.append(asked)
            }
        } else if methods.contains(.get), !methods.contains(.head) {
            allowed.append("HEAD")
        }
        append("Access-Control-Allow-Methods", allowed, to: &headers)
        let asked = head.headers.elements(of: requestHeaders).map(String.init)
            .filter { Grammar.isToken($0) }
        if !asked.isEmpty { append("Access-Control-Allow-Headers", asked, to: &headers) }
        var varying = [requestMethod.text, requestHeaders.text]
        for network in networks where head.headers[network.asked] == "true" {
            headers.append(network.answer, validated: "true")
            varying.append(network.asked.text)
        }
        headers.append("Access-Control-Max-Age", validated: String(maximumAge))
        append(.vary, varying, to: &headers)
        return Response(status: 204, headers: headers, body: .bytes(ByteSlice([])))
    }

    /// Adds the fields that let a page read a response.
    ///
    /// - Parameters:
    ///   - origin: the listed origin of the page.
    ///   - headers: the fields of the response.
    static func allow(_ origin: String, in headers: inout HTTPHeaders) {
        headers.remove(answers)
        let names = headers.map(\.name).filter { !unexposed.contains($0) }.map(\.text)
            .filter { !$0.lowercased().hasPrefix("access-control-") }
        headers.append("Access-Control-Allow-Origin", validated: origin)
        // The field names one origin, so the page may send credentials such as cookies.
        headers.append("Access-Control-Allow-Credentials", validated: "true")
        // List each name: with credentials, `*` is only the field named `*`.
        if !names.isEmpty { append("Access-Control-Expose-Headers", unique(names), to: &headers) }
        let varying = headers.elements(of: .vary)
        if !varying.contains(where: { $0 == "*" || Grammar.equalIgnoringCase(String($0), "Origin") }
        ) {
            headers.append(.vary, validated: "Origin")
        }
    }

    private static func unique(_ names: [String]) -> [String] {
        var seen: Set<String> = []
        return names.filter { seen.insert($0.lowercased()).inserted }
    }

    private static func append(
        _ name: HTTPFieldName,
        _ elements: [String],
        to headers: inout HTTPHeaders
    ) {
        headers.append(name, validated: elements.joined(separator: ", "))
    }
}
