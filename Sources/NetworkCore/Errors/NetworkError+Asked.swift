extension NetworkError {
    /// What was asked: enough to find the call by; the path is shown as it is.
    public struct Asked: Sendable, Hashable, CustomStringConvertible {
        /// The method.
        public let method: HTTPMethod
        /// The URL with the names of its query's parameters, but without their values:
        /// `https://api.example.com/orders?page&sort`.
        public let url: String

        init(_ request: Request) {
            let target = TargetPath(request.target)
            method = request.method
            let names = target.query.map { query in
                "?" + query.split(separator: "&").map(Asked.name).joined(separator: "&")
            }
            url = "\(request.origin)\(target.path)\(names ?? "")"
        }

        private static func name(of parameter: Substring) -> Substring {
            guard let length = Redaction.nameLength(of: parameter.utf8.span) else {
                return Redaction.mark[...]
            }
            return parameter[..<parameter.utf8.index(parameter.startIndex, offsetBy: length)]
        }

        /// Method and URL.
        public var description: String { "\(method.rawValue) \(url)" }
    }

    /// The same error, of a request.
    package func asking(_ request: Request) -> NetworkError {
        var error = self
        error.request = Asked(request)
        return error
    }
}
