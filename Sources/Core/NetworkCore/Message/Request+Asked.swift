extension NetworkError {
    /// Whether the request can be sent again without being processed twice.
    public func isSafeToRetry(_ request: Request) -> Bool {
        isSafeToRetry(isIdempotent: request.isIdempotent)
    }

    /// Returns the same error with the request.
    package func asking(_ request: Request) -> NetworkError {
        var error = self
        error.request = request.asked
        return error
    }
}

extension Request {
    /// The request as errors describe it.
    fileprivate var asked: NetworkError.Asked {
        let path = TargetPath(target)
        let names = path.query.map { query in
            "?" + query.split(separator: "&").map(Request.name).joined(separator: "&")
        }
        return NetworkError.Asked(method: method, url: "\(origin)\(path.path)\(names ?? "")")
    }

    /// Returns the name of a query parameter, or a mark if it may be a value.
    private static func name(of parameter: Substring) -> Substring {
        guard let length = Redaction.nameLength(of: parameter.utf8.span) else {
            return Redaction.mark[...]
        }
        return parameter[..<parameter.utf8.index(parameter.startIndex, offsetBy: length)]
    }
}
