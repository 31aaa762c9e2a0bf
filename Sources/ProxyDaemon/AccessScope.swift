import HTTP1
import HTTPMessage
import NetworkCore

/// What may be asked of a channel: an app that only reads orders needs no more than that.
///
/// Shared, so that judging a request copies nothing.
final class AccessScope: Sendable {
    /// Fields with which an app asks many servers for another method than its own.
    private static let otherMethods = [
        "x-http-method-override", "x-http-method", "x-method-override",
    ]
    /// Fields with which it asks some for another path.
    private static let otherPaths = ["x-original-url", "x-rewrite-url"]

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
        if !methods.isEmpty { try checkMethod(head.method, head.headers) }
        if !paths.isEmpty { try checkPath(target, head.headers) }
    }

    private func checkMethod(
        _ method: HTTPMethod,
        _ headers: HTTPHeaders
    ) throws(NetworkError) {
        guard method.isAmong(methods) else {
            let allowed = methods.map(\.rawValue).joined(separator: ", ")
            throw denied("the channel's access.methods allow \(allowed), and no \(method.rawValue)")
        }
        if let field = AccessScope.first(of: AccessScope.otherMethods, in: headers) {
            throw denied("\(field) asks for another method; the channel's access.methods refuse it")
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
        if TargetPath(path).hasDotSegments || AccessScope.isReadTwice(path.lowercased()) {
            throw denied(
                "servers read the path differently (dot segments, //, ;, %3B, %25), and the channel "
                    + "has access.paths"
            )
        }
        if let field = AccessScope.first(of: AccessScope.otherPaths, in: headers) {
            throw denied("\(field) asks for another path; the channel's access.paths refuse it")
        }
    }

    /// Whether a path has empty segments, which some servers merge, parameters, which some drop (RFC 3986
    /// §3.3), or escapes that lead to others once somebody has undone them.
    private static func isReadTwice(_ path: String) -> Bool {
        ["//", ";", "%3b", "%25"].contains { path.contains($0) }
    }

    /// The first field with one of these names, also as CGI and its heirs read it: `_` is `-` there.
    private static func first(of names: [String], in headers: HTTPHeaders) -> String? {
        for field in headers {
            let text = field.name.text
            let name = String(text.lowercased().map { $0 == "_" ? "-" : $0 })
            if names.contains(name) { return text }
        }
        return nil
    }

    private func denied(_ detail: String) -> NetworkError {
        NetworkError(.httpRequestDenied, side: .downstream, detail: detail, status: 403)
    }
}
