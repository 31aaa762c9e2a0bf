import HTTPMessage

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
            return (AdminQuery.form(parts[0]), parts.count > 1 ? AdminQuery.form(parts[1]) : "")
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

    private static func form(_ text: Substring) -> String {
        decoded(text.replacing("+", with: " "))
    }

    /// Percent-encoding decoded; a `%` without two digits behind it stays what it is.
    static func decoded(_ text: some StringProtocol) -> String {
        var bytes: [UInt8] = []
        let source = Array(text.utf8)
        var index = 0
        while index < source.count {
            if source[index] == UInt8(ascii: "%"), index + 2 < source.count,
                let high = Grammar.hexValue(source[index + 1]),
                let low = Grammar.hexValue(source[index + 2])
            {
                bytes.append(UInt8(high) << 4 | UInt8(low))
                index += 3
            } else {
                bytes.append(source[index])
                index += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
