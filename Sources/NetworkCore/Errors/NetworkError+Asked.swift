extension NetworkError {
    /// What was asked: enough to find the call by; the path is shown as it is.
    public struct Asked: Sendable, Hashable, CustomStringConvertible {
        /// The method.
        public let method: HTTPMethod
        /// The URL with the names of its query's parameters, but without their values:
        /// `https://api.example.com/orders?page&sort`.
        public let url: String

        /// The longest text without a value that counts as a name, in bytes: beyond it may be a
        /// token.
        private static let longestName = 20

        init(_ request: Request) {
            let target = TargetPath(request.target)
            method = request.method
            let names = target.query.map { query in
                "?" + query.split(separator: "&").map(Asked.name).joined(separator: "&")
            }
            url = "\(request.origin)\(target.path)\(names ?? "")"
        }

        private static func name(of parameter: Substring) -> Substring {
            if let equals = parameter.utf8.firstIndex(of: UInt8(ascii: "=")) {
                // At the end of base64 the sign separates nothing.
                let hasValue = parameter[equals...].utf8.contains { $0 != UInt8(ascii: "=") }
                if hasValue || parameter[..<equals].utf8.count <= longestName {
                    return parameter[..<equals]
                }
            }
            return parameter.utf8.count > longestName ? Redaction.mark[...] : parameter
        }

        /// Method and URL.
        public var description: String { "\(method.rawValue) \(url)" }
    }

    /// The same error, of a request.
    func asking(_ request: Request) -> NetworkError {
        var error = self
        error.request = Asked(request)
        return error
    }
}
