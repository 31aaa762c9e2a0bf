import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetworkCore

/// What a browser has to be told before a listed page may read an answer (CORS, WHATWG Fetch §3.3).
///
/// netproxy answers in place of the API, which need not know the page: it would refuse the preflight,
/// which carries no credential, or name other origins.
enum CrossOrigin {
    /// How long a browser may remember the answer to a preflight, in seconds: a change of the
    /// configuration should not take longer to be noticed.
    private static let maximumAge = 600

    /// The fields of an upstream's answer that netproxy's own take the place of: twice the same would
    /// make a browser refuse the answer.
    private static let answers: Set<HTTPFieldName> = [
        "Access-Control-Allow-Origin", "Access-Control-Allow-Credentials",
        "Access-Control-Expose-Headers",
    ]
    /// What a browser shows no page, or every page, whatever is exposed.
    private static let unexposed: Set<HTTPFieldName> = [
        .setCookie, "Set-Cookie2", .cacheControl, .contentLanguage, .contentLength, .contentType,
        .expires, .lastModified, "Pragma", .vary,
    ]
    /// Networks that a page asks to reach, and the answer (Private and Local Network Access).
    private static let networks: [(asked: HTTPFieldName, answer: HTTPFieldName)] = [
        (
            "Access-Control-Request-Private-Network", "Access-Control-Allow-Private-Network"
        ),
        ("Access-Control-Request-Local-Network", "Access-Control-Allow-Local-Network"),
    ]
    private static let requestMethod: HTTPFieldName = "Access-Control-Request-Method"
    private static let requestHeaders: HTTPFieldName = "Access-Control-Request-Headers"

    /// Whether a browser asks before it sends a page's request.
    static func isPreflight(_ head: RequestHead) -> Bool {
        head.method == .options && head.headers.contains(KnownField.origin)
            && head.headers.contains(requestMethod)
    }

    /// The answer to a preflight of a listed page, without the fields that `allow` adds.
    ///
    /// - Parameters:
    ///   - head: the preflight.
    ///   - methods: those that the channel allows; all of them if empty.
    /// - Returns: 204.
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

    /// Lets a page read a response.
    ///
    /// - Parameters:
    ///   - origin: the page's, which is listed.
    ///   - headers: of the response.
    static func allow(_ origin: String, in headers: inout HTTPHeaders) {
        headers.remove(answers)
        let names = headers.map(\.name).filter { !unexposed.contains($0) }.map(\.text)
            .filter { !$0.lowercased().hasPrefix("access-control-") }
        headers.append("Access-Control-Allow-Origin", validated: origin)
        // The origin is named, so a page may send cookies and the like along.
        headers.append("Access-Control-Allow-Credentials", validated: "true")
        // Each by its name: with credentials, `*` would mean a field of that name.
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
