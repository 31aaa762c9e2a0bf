import NetproxyHTTP1
import NetproxyHTTPMessage
import NetworkCore

/// The methods and paths that a channel allows, for clients that need only a part of an API.
///
/// A class, so that a check copies nothing.
package final class AccessScope: Sendable {
    /// The fields that make some servers use another path.
    private static let otherPaths: [HTTPFieldName] = [
        "X-Original-URL", "X-Rewrite-URL", "X-Original-URI", "X-Forwarded-URI",
        "X-Envoy-Original-Path",
    ]

    /// The allowed methods; all of them if empty.
    let methods: [HTTPMethod]
    /// The allowed paths; all of them if empty.
    private let paths: [PathPattern]
    /// Whether the scope excludes any path.
    var limitsPaths: Bool { !paths.isEmpty }
    /// The base path of the upstream, which request targets include and patterns do not.
    private let basePath: String

    init(methods: [HTTPMethod] = [], paths: [PathPattern] = [], basePath: String = "") {
        self.methods = methods
        self.paths = paths
        self.basePath = basePath
    }

    /// Checks the second target in a field of a request.
    ///
    /// - Throws: `http_request_denied` with 403.
    func check(_ second: SecondTarget, in field: HTTPFieldName) throws(NetworkError) {
        guard limitsPaths else { return }
        guard let path = second.path, paths.contains(where: { $0.matches(path) }),
            !AccessScope.isAmbiguous(path)
        else { throw denied("\(field) names a path that access.paths does not allow") }
    }

    /// Checks the method of a request; call it only if the scope limits methods.
    ///
    /// - Parameters:
    ///   - head: the request.
    ///   - target: the target of the upstream request.
    /// - Throws: `http_request_denied` with 403.
    func checkMethod(
        of head: borrowing RequestHead,
        target: String
    ) throws(NetworkError) {
        guard head.method.isAmong(methods) else {
            let allowed = methods.map(\.rawValue).joined(separator: ", ")
            throw denied(
                "\(head.method.rawValue) is not allowed; access.methods allows \(allowed)"
            )
        }
        let other =
            MethodOverride.field(in: head.headers)
            ?? MethodOverride.parameter(of: target, beyond: methods)
        if let other {
            throw denied("\(other) asks for another method, which access.methods does not allow")
        }
    }

    /// Checks the path of a request; call it only if the scope limits paths.
    ///
    /// - Parameters:
    ///   - target: the target of the upstream request.
    ///   - headers: the fields of the request.
    /// - Throws: `http_request_denied` with 403.
    func checkPath(_ target: String, _ headers: HTTPHeaders) throws(NetworkError) {
        let path = PathPattern.path(of: target, below: basePath)
        let bytes = NormalPath(path.utf8.span).bytes
        guard paths.contains(where: { $0.matches(bytes.span) }) else {
            let allowed = paths.map(\.description).joined(separator: ", ")
            throw denied("path not allowed by access.paths: \(allowed)")
        }
        // A matching pattern proves nothing about a path that servers read differently.
        if AccessScope.isAmbiguous(path) {
            throw denied(
                "ambiguous path (dot segments, //, ;, %3B, %25, %3F, %23, control characters or invalid "
                    + "UTF-8) in a channel with access.paths"
            )
        }
        if let field = headers.firstName(like: AccessScope.otherPaths) {
            throw denied("\(field) asks for another path, which access.paths does not allow")
        }
    }

    private static func isAmbiguous(_ path: String) -> Bool {
        TargetPath(path).hasDotSegments || AmbiguousPath.isAmbiguous(path.utf8.span)
    }

    private func denied(_ detail: String) -> NetworkError {
        NetworkError(.httpRequestDenied, side: .downstream, detail: detail, status: 403)
    }
}
