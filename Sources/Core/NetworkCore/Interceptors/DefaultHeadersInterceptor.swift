/// Edits the field section: removes fields, adds missing ones, and replaces others.
///
/// A name stands for all of its spellings: `X_Debug` is no way around a rule about `X-Debug`.
public struct DefaultHeadersInterceptor: RequestInterceptor {
    private let defaults: [HTTPField]
    /// The defaults as a section, for a request that has none of them.
    private let allDefaults: HTTPHeaders
    private let replacements: [HTTPField]
    private let removed: [HTTPFieldName]

    /// Makes the editor.
    ///
    /// - Parameters:
    ///   - defaults: added only where the request has no such field; the first of a name counts.
    ///   - replacements: fields that replace those of the request.
    ///   - removed: taken out, before the others are put in.
    public init(
        defaults: HTTPHeaders = [:],
        replacements: HTTPHeaders = [:],
        removed: [HTTPFieldName] = []
    ) {
        var all = HTTPHeaders()
        // The first of a name is the default; no other would be added after it.
        self.defaults = defaults.filter { field in
            guard !all.contains(field.name) else { return false }
            all.append(field)
            return true
        }
        allDefaults = all
        self.replacements = Array(replacements)
        self.removed = removed
    }

    /// Whether there are no rules: it is left out of the stack then.
    public var isIdle: Bool { defaults.isEmpty && replacements.isEmpty && removed.isEmpty }

    /// Edits the request and sends it on.
    public func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        var request = request
        edit(&request.headers)
        return try await next.send(request, context: &context)
    }

    /// Edits a field section.
    func edit(_ headers: inout HTTPHeaders) {
        for name in removed { headers.removeAll(like: name) }
        fillIn(&headers)
        for index in replacements.indices {
            headers.removeAll(like: replacements[index].name)
            headers.append(replacements[index])
        }
    }

    private func fillIn(_ headers: inout HTTPHeaders) {
        guard headers.mayOverlap(allDefaults) else { return headers.append(allDefaults) }
        // By position: a field taken out of its array would be copied.
        for index in defaults.indices where !headers.contains(like: defaults[index].name) {
            headers.append(defaults[index])
        }
    }
}
