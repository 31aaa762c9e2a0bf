/// Edits the field section: removes fields, adds missing ones, and replaces others.
///
/// A name matches all of its spellings, so `X_Debug` does not bypass a rule for `X-Debug`.
public struct DefaultHeadersInterceptor: RequestInterceptor {
    private let defaults: [HTTPField]
    /// The defaults as a field section, for requests that have none of them.
    private let allDefaults: HTTPHeaders
    private let replacements: [HTTPField]
    private let removed: [HTTPFieldName]

    /// Creates the interceptor.
    ///
    /// - Parameters:
    ///   - defaults: fields that are added if the request does not have them; the first of each name counts.
    ///   - replacements: fields that replace those of the request.
    ///   - removed: fields that are removed before the others are added.
    public init(
        defaults: HTTPHeaders = [:],
        replacements: HTTPHeaders = [:],
        removed: [HTTPFieldName] = []
    ) {
        var all = HTTPHeaders()
        // Only the first field of a name is a default; the others would never be added.
        self.defaults = defaults.filter { field in
            guard !all.contains(field.name) else { return false }
            all.append(field)
            return true
        }
        allDefaults = all
        self.replacements = Array(replacements)
        self.removed = removed
    }

    /// Whether there are no rules, so that the stack omits the interceptor.
    public var isIdle: Bool { defaults.isEmpty && replacements.isEmpty && removed.isEmpty }

    /// Edits the request and sends it.
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
        // Use indices, because iteration would copy each field.
        for index in defaults.indices where !headers.contains(like: defaults[index].name) {
            headers.append(defaults[index])
        }
    }
}
