/// The responses that count as a success; every other one throws `unacceptable_response`.
///
/// The default is 2xx with any content type.
public struct SuccessRule: Sendable {
    /// The accepted statuses.
    public var statuses: Set<HTTPStatus>
    /// The accepted media types, such as `application/json`, `image/*` or `*/*`; an empty list accepts all.
    ///
    /// The type is not checked if the head of the response shows that there is no content.
    public var contentTypes: [String]

    /// Creates a rule from statuses and media types.
    public init(statuses: Set<HTTPStatus>, contentTypes: [String] = []) {
        self.statuses = statuses
        self.contentTypes = contentTypes
    }

    /// Creates a rule from a range of statuses, from 100 to 999.
    public init(_ range: some Sequence<Int>, contentTypes: [String] = []) {
        self.init(
            statuses: Set(range.lazy.compactMap(HTTPStatus.init(rawValue:))),
            contentTypes: contentTypes
        )
    }

    /// The rule for statuses from 200 to 299.
    public static let successful = SuccessRule(200...299)
    /// The rule for status 200 only.
    public static let ok = SuccessRule(statuses: [200])
    /// The rule for every final status, if the caller checks the response.
    public static let any = SuccessRule(100...999)

    /// Returns a rule with the same statuses, restricted to these media types.
    public func accepting(_ contentTypes: String...) -> SuccessRule {
        SuccessRule(statuses: statuses, contentTypes: contentTypes)
    }

    /// Returns the reason why a response is not a success, as a clause; `nil` if it is one.
    public func objection(to response: Response) -> String? {
        guard statuses.contains(response.status) else {
            return "unexpected status \(response.status)"
        }
        guard !contentTypes.isEmpty, response.body.length != 0 else { return nil }
        let type = response.headers[.contentType] ?? ""
        let essence = type.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
        guard contentTypes.contains(where: { SuccessRule.matches(essence, $0.lowercased()) })
        else {
            let wanted = contentTypes.joined(separator: ", ")
            return essence.isEmpty
                ? "the content has no type; expected \(wanted)"
                : "the content type \(essence) was not asked for; expected \(wanted)"
        }
        return nil
    }

    private static func matches(_ type: String, _ pattern: String) -> Bool {
        if pattern == "*/*" || pattern == type { return true }
        guard pattern.hasSuffix("/*") else { return false }
        return type.hasPrefix(pattern.dropLast())
    }
}

/// The responses that may lack content.
///
/// A response that this rule allows has the value for missing content, if its type has one (`NoContent`, an
/// optional). Any other empty response throws `undecodable_response`.
public struct EmptyContentRule: Sendable {
    /// The statuses whose responses may be empty.
    ///
    /// Default 204, 205 and 304, which never have content (RFC 9110 §15).
    public var statuses: Set<HTTPStatus>
    /// The methods whose responses may be empty.
    ///
    /// Default HEAD.
    public var methods: Set<HTTPMethod>

    /// Creates a rule.
    public init(
        statuses: Set<HTTPStatus> = [204, 205, 304],
        methods: Set<HTTPMethod> = [.head]
    ) {
        self.statuses = statuses
        self.methods = methods
    }

    /// Whether a response to a request with `method` may be empty.
    public func allows(_ status: HTTPStatus, to method: HTTPMethod) -> Bool {
        statuses.contains(status) || methods.contains(method)
    }
}
