package import NetproxyYAML

/// A built-in provider: the channel that reaches its API, and the facts that a user needs.
package struct ProviderPreset: Sendable {
    /// A key of `with`.
    package struct Parameter: Sendable {
        package let name: String
        package let kind: Kind
        /// The provider's usual environment variables, in the order in which they count.
        package let variables: [String]
        /// The place where the value comes from.
        package let create: String
        /// The usual format of a secret.
        package let format: String?
        /// A valid text.
        package let example: String?
        package let necessity: Necessity

        package enum Kind: String, Sendable {
            case secret, text
        }

        package enum Necessity: Sendable {
            case required, optional
        }
    }

    package let name: String
    package let title: String
    package let parameters: [Parameter]
    /// The keys of the channel, with `{NAME}` for the value of a parameter.
    package let channel: YAMLNode
    /// The keys that apply while an optional parameter is missing, by the parameter's name.
    package let without: [String: YAMLNode]
    /// The environment variables, besides those of secrets, that may hold a credential of the provider.
    package let withheld: [String]
    /// The response to a wrong credential.
    package let refusal: String
    /// The header fields that the API requires of a request.
    package let demands: [(name: String, value: String)]
    package let note: String?
    /// The day on which the facts were compared with the sources, or `never`.
    package let checked: String
    package let sources: [String]
    /// The keys of the channel, as in the file.
    package let channelText: String

    /// Returns the parameter with a name.
    package func parameter(_ name: String) -> Parameter? { parameters.first { $0.name == name } }

    /// The parameters that are secrets.
    package var secrets: [Parameter] { parameters.filter { $0.kind == .secret } }

    /// The environment variables that a program under `netproxy exec --with` does not inherit.
    package var withheldVariables: [String] { secrets.flatMap(\.variables) + withheld }

    /// Whether a new channel contains examples that the user must replace.
    package var hasExamples: Bool {
        parameters.contains { $0.kind == .text && $0.necessity == .required }
    }

    /// Whether a user signs in before the first request.
    package var needsSignIn: Bool {
        channel["auth"]?["oauth"]?["grant"]?.text == "authorization_code"
    }
}

extension ProviderPreset {
    /// Reads a preset from the file; throws `Malformed` for a mistake in it.
    init(name: String, node: YAMLNode, channelText: String) throws(Malformed) {
        self.name = name
        self.channelText = channelText
        title = try node.text(of: "title")
        parameters = try node.entries(of: "parameters").map { entry throws(Malformed) in
            try Parameter(name: entry.name, node: entry.value)
        }
        guard let channel = node["channel"] else { throw Malformed("channel") }
        self.channel = channel
        without = Dictionary(
            node.entries(ifPresent: "without").map { ($0.name, $0.value) },
            uniquingKeysWith: { first, _ in first }
        )
        withheld = node["withheld"]?.texts ?? []
        refusal = try node.text(of: "refusal")
        demands = try node.entries(of: "demands").map {
            entry throws(Malformed) -> (name: String, value: String) in
            guard let value = entry.value.text else { throw Malformed(entry.name) }
            return (name: entry.name, value: value)
        }
        note = node["note"]?.text
        checked = try node.text(of: "checked")
        sources = node["sources"]?.texts ?? []
    }

    /// The key that is missing or has an unusable value.
    struct Malformed: Error {
        let key: String

        init(_ key: String) {
            self.key = key
        }
    }
}

extension ProviderPreset.Parameter {
    fileprivate init(name: String, node: YAMLNode) throws(ProviderPreset.Malformed) {
        self.name = name
        guard let kind = Kind(rawValue: node["kind"]?.text ?? "secret") else {
            throw ProviderPreset.Malformed("kind")
        }
        self.kind = kind
        variables = node["variables"]?.texts ?? []
        create = try node.text(of: "create")
        format = node["format"]?.text
        example = node["example"]?.text
        necessity = node["optional"]?.text == "true" ? .optional : .required
    }
}

extension YAMLNode {
    /// Returns the value of a key.
    fileprivate subscript(key: String) -> YAMLNode? {
        entries(in: self).first { $0.name == key }?.value
    }

    /// The items of a sequence that are scalars.
    fileprivate var texts: [String] {
        if case .sequence(let items) = content { items.compactMap(\.text) } else { [] }
    }

    fileprivate func text(of key: String) throws(ProviderPreset.Malformed) -> String {
        guard let text = self[key]?.text else { throw ProviderPreset.Malformed(key) }
        return text
    }

    fileprivate func entries(
        of key: String
    ) throws(ProviderPreset.Malformed) -> [(name: String, value: YAMLNode)] {
        guard let node = self[key] else { throw ProviderPreset.Malformed(key) }
        return entries(in: node)
    }

    fileprivate func entries(ifPresent key: String) -> [(name: String, value: YAMLNode)] {
        self[key].map(entries) ?? []
    }

    private func entries(in node: YAMLNode) -> [(name: String, value: YAMLNode)] {
        guard case .mapping(let entries) = node.content else { return [] }
        return entries.compactMap { entry in
            entry.key.text.map { (name: $0, value: entry.value) }
        }
    }
}
