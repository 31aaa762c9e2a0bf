/// Edits the field section as the channel says: fills in what the app left out, replaces, removes.
public struct DefaultHeadersInterceptor: PassingInterceptor {
    private let defaults: [HTTPField]
    /// The defaults once more, for a request that has none of them.
    private let allDefaults: HTTPHeaders
    private let replacements: [HTTPField]
    private let removed: [HTTPFieldName]

    /// Makes the editor.
    ///
    /// - Parameters:
    ///   - defaults: added only where the request has no such field; the first of a name counts.
    ///   - replacements: put in the place of what the request has.
    ///   - removed: taken out, before the others are put in.
    public init(
        defaults: HTTPHeaders = [:],
        replacements: HTTPHeaders = [:],
        removed: [HTTPFieldName] = []
    ) {
        var all = HTTPHeaders()
        // The first of a name is the default; no other would be added behind it.
        self.defaults = defaults.filter { field in
            guard !all.contains(field.name) else { return false }
            all.append(field)
            return true
        }
        allDefaults = all
        self.replacements = Array(replacements)
        self.removed = removed
    }

    /// Whether there is nothing to edit: the stack leaves it out then.
    public var isIdle: Bool { defaults.isEmpty && replacements.isEmpty && removed.isEmpty }

    /// Edits the request and sends it on.
    public func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        var request = request
        _ = pass(&request, context: &context)
        return try await next.send(request, context: &context)
    }

    /// Edits the request.
    package func pass(_ request: inout Request, context: inout RequestContext) -> Passing {
        for name in removed { request.headers.remove(name) }
        fillIn(&request.headers)
        for index in replacements.indices { request.headers.set(replacements[index]) }
        return .edited
    }

    private func fillIn(_ headers: inout HTTPHeaders) {
        guard headers.mayOverlap(allDefaults) else { return headers.append(allDefaults) }
        // By position: a field taken out of its array would be copied.
        for index in defaults.indices where !headers.contains(defaults[index].name) {
            headers.append(defaults[index])
        }
    }
}
