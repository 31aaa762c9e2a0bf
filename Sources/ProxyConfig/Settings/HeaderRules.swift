/// Header fields that a channel adds, replaces and removes, in the order of the file.
package struct HeaderRules: Sendable, Hashable {
    /// Added where the request has none.
    package var defaults: [HeaderField]
    package var set: [HeaderField]
    /// As `set`, with values that are nowhere shown: what an API wants beside its credential, such as
    /// a subscription key.
    package var secrets: [HeaderSecret] = []
    package var remove: [String]
}

/// The name of a header field, and where its value is kept.
package struct HeaderSecret: Sendable, Hashable {
    package var name: String
    package var value: SecretReference
}

/// The name and value of one header field.
package struct HeaderField: Sendable, Hashable {
    package var name: String
    package var value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}
