import HTTP1
import HTTPMessage
import NetworkCore

/// What may be asked of a channel: an app that only reads orders needs no more than that.
///
/// Shared, so that judging a request copies nothing.
final class AccessScope: Sendable {
    /// Fields with which an app asks many servers for another method than its own.
    private static let overrides = [
        "X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override",
    ].compactMap { HTTPFieldName($0) }

    /// Everything, if empty; `GET` allows `HEAD`.
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
        if !paths.isEmpty { try checkPath(target) }
    }

    private func checkMethod(
        _ method: HTTPMethod,
        _ headers: HTTPHeaders
    ) throws(NetworkError) {
        guard methods.contains(method) || method == .head && methods.contains(.get) else {
            let allowed = methods.map(\.rawValue).joined(separator: ", ")
            throw denied("the channel's access.methods allow \(allowed), and no \(method.rawValue)")
        }
        if let field = AccessScope.overrides.first(where: { headers.contains($0) }) {
            throw denied("\(field) asks for another method; the channel's access.methods refuse it")
        }
    }

    private func checkPath(_ target: String) throws(NetworkError) {
        let path = PathPattern.path(of: target, below: basePath)
        guard paths.contains(where: { $0.matches(path) }) else {
            let allowed = paths.map(\.description).joined(separator: ", ")
            throw denied("the path is none of the channel's access.paths: \(allowed)")
        }
        // What servers read differently is no path that a pattern can speak for.
        if TargetPath(path).hasDotSegments {
            throw denied("the path has dot segments, and the channel has access.paths")
        }
    }

    private func denied(_ detail: String) -> NetworkError {
        NetworkError(.httpRequestDenied, side: .downstream, detail: detail, status: 403)
    }
}
