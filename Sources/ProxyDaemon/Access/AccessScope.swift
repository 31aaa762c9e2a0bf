import HTTP1
import HTTPMessage
import NetworkCore

/// What may be asked of a channel: an app that only reads orders needs no more than that.
///
/// Shared, so that judging a request copies nothing.
final class AccessScope: Sendable {
    /// Fields with which an app asks many servers for another method than its own.
    private static let otherMethods = [
        "x-http-method-override", "x-http-method", "x-method-override", "x-method",
    ]
    /// Fields with which it asks some for another path, or names a second one (RFC 4918 §10.3).
    private static let otherPaths = [
        "x-original-url", "x-rewrite-url", "x-original-uri", "x-forwarded-uri",
        "x-envoy-original-path", "destination",
    ]

    /// Everything, if empty.
    private let methods: [HTTPMethod]
    /// Everything, if empty.
    private let paths: [PathPattern]
    /// What the targets begin with, and the patterns do not.
    private let basePath: String

    init(methods: [HTTPMethod] = [], paths: [PathPattern] = [], basePath: String = "") {
        self.methods = methods
        self.paths = paths
        self.basePath = basePath
    }

    /// Judges a request.
    ///
    /// - Parameters:
    ///   - head: the request.
    ///   - target: what the upstream would be asked for.
    /// - Throws: `http_request_denied` with 403.
    func check(_ head: borrowing RequestHead, target: String) throws(NetworkError) {
        if !methods.isEmpty { try checkMethod(head.method, head.headers, target) }
        if !paths.isEmpty { try checkPath(target, head.headers) }
    }

    private func checkMethod(
        _ method: HTTPMethod,
        _ headers: HTTPHeaders,
        _ target: String
    ) throws(NetworkError) {
        guard method.isAmong(methods) else {
            let allowed = methods.map(\.rawValue).joined(separator: ", ")
            throw denied("the channel's access.methods allow \(allowed), and no \(method.rawValue)")
        }
        if let field = AccessScope.first(of: AccessScope.otherMethods, in: headers) {
            throw denied("\(field) asks for another method; the channel's access.methods refuse it")
        }
        if AccessScope.hasMethod(inQueryOf: target) {
            throw denied("_method asks for another method; the channel's access.methods refuse it")
        }
    }

    /// Whether the query names a method, as some frameworks take it from there.
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
            throw denied("the path is none of the channel's access.paths: \(allowed)")
        }
        // What servers read differently is no path that a pattern can speak for.
        if TargetPath(path).hasDotSegments || AccessScope.isReadTwice(path) {
            throw denied(
                "servers read the path differently (dot segments, //, ;, %3B, %25, %3F, %23, what is "
                    + "no text), and the channel has access.paths"
            )
        }
        if let field = AccessScope.first(of: AccessScope.otherPaths, in: headers) {
            throw denied("\(field) asks for another path; the channel's access.paths refuse it")
        }
    }

    /// Whether a path has empty segments, which some servers merge, parameters, which some drop (RFC 3986
    /// §3.3), escapes that lead to others or end the path once somebody has undone them, or a segment
    /// that some take for dots.
    private static func isReadTwice(_ path: String) -> Bool {
        let folded = path.lowercased()
        if ["//", ";", "%3b", "%25", "%3f", "%23"].contains(where: folded.contains) { return true }
        // Where an escape is no text, a decoder of some kind makes of it what it likes.
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

    /// What is a full stop to those who fold widths (Unicode's compatibility forms).
    private static let dots: Set<Unicode.Scalar> = [
        ".", "\u{2024}", "\u{2025}", "\u{2026}", "\u{FE52}", "\u{FF0E}",
    ]
    /// What is a slash to them.
    private static let slashes: Set<Unicode.Scalar> = [
        "/", "\\", "\u{FE68}", "\u{FF0F}", "\u{FF3C}",
    ]

    /// The first field with one of these names, also as CGI and its heirs read it: `_` is `-` there,
    /// and to some `.` is.
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
