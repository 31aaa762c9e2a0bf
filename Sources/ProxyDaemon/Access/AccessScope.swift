import HTTP1
import HTTPMessage
import NetworkCore

/// Which methods and paths a channel allows: an app that only reads orders needs no more than that.
///
/// Shared, so that a check copies nothing.
final class AccessScope: Sendable {
    /// Fields that make many servers use another method.
    private static let otherMethods = [
        "x-http-method-override", "x-http-method", "x-method-override", "x-method",
    ]
    /// Fields that make some servers use another path.
    private static let otherPaths = [
        "x-original-url", "x-rewrite-url", "x-original-uri", "x-forwarded-uri",
        "x-envoy-original-path",
    ]

    /// All methods if empty.
    private let methods: [HTTPMethod]
    /// All paths if empty.
    private let paths: [PathPattern]
    /// The base path of the upstream, which targets include and patterns do not.
    private let basePath: String

    init(methods: [HTTPMethod] = [], paths: [PathPattern] = [], basePath: String = "") {
        self.methods = methods
        self.paths = paths
        self.basePath = basePath
    }

    /// Checks a request.
    ///
    /// - Parameters:
    ///   - head: the request.
    ///   - target: the upstream request's.
    /// - Throws: `http_request_denied` with 403.
    func check(_ head: borrowing RequestHead, target: String) throws(NetworkError) {
        if !methods.isEmpty { try checkMethod(head.method, head.headers, target) }
        if !paths.isEmpty { try checkPath(target, head.headers) }
    }

    /// Checks the second place that a field of a request names.
    ///
    /// - Throws: `http_request_denied` with 403.
    func check(_ second: SecondTarget, in field: HTTPFieldName) throws(NetworkError) {
        guard !paths.isEmpty else { return }
        guard let path = second.path, paths.contains(where: { $0.matches(path) }),
            !AccessScope.isAmbiguous(path)
        else { throw denied("\(field) names a path that access.paths does not allow") }
    }

    private func checkMethod(
        _ method: HTTPMethod,
        _ headers: HTTPHeaders,
        _ target: String
    ) throws(NetworkError) {
        guard method.isAmong(methods) else {
            let allowed = methods.map(\.rawValue).joined(separator: ", ")
            throw denied("\(method.rawValue) is not allowed; access.methods allows \(allowed)")
        }
        if let field = AccessScope.first(of: AccessScope.otherMethods, in: headers) {
            throw denied("\(field) asks for another method, which access.methods does not allow")
        }
        if AccessScope.hasMethod(inQueryOf: target) {
            throw denied("_method asks for another method, which access.methods does not allow")
        }
    }

    /// Whether the query names a method: some frameworks take it from there.
    private static func hasMethod(inQueryOf target: String) -> Bool {
        guard let mark = target.firstIndex(of: "?") else { return false }
        return target[mark...].dropFirst().split { $0 == "&" || $0 == ";" }.contains { piece in
            let name = PercentEncoding.decoded(piece.prefix { $0 != "=" })
            return name.lowercased() == "_method"
        }
    }

    private func checkPath(
        _ target: String,
        _ headers: HTTPHeaders
    ) throws(NetworkError) {
        let path = PathPattern.path(of: target, below: basePath)
        guard paths.contains(where: { $0.matches(path) }) else {
            let allowed = paths.map(\.description).joined(separator: ", ")
            throw denied("path not allowed by access.paths: \(allowed)")
        }
        // A pattern says nothing about a path that servers read differently.
        if AccessScope.isAmbiguous(path) {
            throw denied(
                "ambiguous path (dot segments, //, ;, %3B, %25, %3F, %23, control characters or invalid "
                    + "UTF-8) in a channel with access.paths"
            )
        }
        if let field = AccessScope.first(of: AccessScope.otherPaths, in: headers) {
            throw denied("\(field) asks for another path, which access.paths does not allow")
        }
    }

    private static func isAmbiguous(_ path: String) -> Bool {
        TargetPath(path).hasDotSegments || isReadTwice(path)
    }

    /// Whether a path has empty segments, which some servers merge; parameters, which some drop (RFC 3986
    /// §3.3); escapes that, once decoded, lead to others or end the path; or a segment that some read as
    /// dots.
    private static func isReadTwice(_ path: String) -> Bool {
        let folded = path.lowercased()
        if ["//", ";", "%3b", "%25", "%3f", "%23"].contains(where: folded.contains) { return true }
        // Decoders disagree about invalid UTF-8.
        let decoded = PercentEncoding.decodedSegment(path[...]).unicodeScalars
        if decoded.contains("\u{FFFD}") { return true }
        return decoded.split { AccessScope.slashes.contains($0) }.contains { segment in
            segment.contains { AccessScope.isControl($0) }
                || segment.allSatisfy { $0 == " " || AccessScope.dots.contains($0) }
        }
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || scalar.value == 0x7F
    }

    /// The characters that become a full stop where widths are folded (Unicode's compatibility forms).
    private static let dots: Set<Unicode.Scalar> = [
        ".", "\u{2024}", "\u{2025}", "\u{2026}", "\u{FE52}", "\u{FF0E}",
    ]
    /// The characters that become a slash there.
    private static let slashes: Set<Unicode.Scalar> = [
        "/", "\\", "\u{FE68}", "\u{FF0F}", "\u{FF3C}",
    ]

    /// The first field with one of these names, also as CGI and its successors read it: `_` means `-`
    /// there, and sometimes `.` does.
    private static func first(of names: [String], in headers: HTTPHeaders) -> String? {
        for field in headers {
            let text = field.name.text
            let name = String(text.lowercased().map { $0 == "_" || $0 == "." ? "-" : $0 })
            if names.contains(name) { return text }
        }
        return nil
    }

    private func denied(_ detail: String) -> NetworkError {
        NetworkError(.httpRequestDenied, side: .downstream, detail: detail, status: 403)
    }
}
