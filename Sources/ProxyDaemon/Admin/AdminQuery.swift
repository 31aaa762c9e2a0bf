import NetworkCore

/// The parameters of an admin request's query, decoded like a form: `+` and `%20` are spaces.
struct AdminQuery {
    private let parameters: [(name: String, value: String)]

    init(_ query: String?) {
        parameters = (query ?? "").split(separator: "&").map { parameter in
            let parts = parameter.split(
                separator: "=",
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            return (
                PercentEncoding.decoded(parts[0]),
                parts.count > 1 ? PercentEncoding.decoded(parts[1]) : ""
            )
        }
    }

    /// The values under a name, in their order.
    subscript(name: String) -> [String] {
        parameters.filter { $0.name == name }.map(\.value)
    }

    /// The first name that is none of these.
    func unknownName(among names: Set<String>) -> String? {
        parameters.first { !names.contains($0.name) }?.name
    }
}
