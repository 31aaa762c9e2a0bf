/// Edits the field section as the channel says: fills in what the app left out, replaces, removes.
public struct DefaultHeadersInterceptor: PassingInterceptor {
    private let defaults: [HTTPField]
    private let replacements: [HTTPField]
    private let removed: [HTTPFieldName]

    /// Makes the editor.
    ///
    /// - Parameters:
    ///   - defaults: added only where the request has no such field.
    ///   - replacements: put in the place of what the request has.
    ///   - removed: taken out, before the others are put in.
    public init(
        defaults: [HTTPField] = [],
        replacements: [HTTPField] = [],
        removed: [HTTPFieldName] = []
    ) {
        self.defaults = defaults
        self.replacements = replacements
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
    package func pass(_ request: inout Request, context: inout RequestContext) -> Bool {
        for name in removed { request.headers.remove(name) }
        // By position: a field taken out of its array would be copied.
        for index in defaults.indices where !request.headers.contains(defaults[index].name) {
            request.headers.append(defaults[index])
        }
        for index in replacements.indices { request.headers.set(replacements[index]) }
        return true
    }
}
