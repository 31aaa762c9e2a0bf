package import NetproxyHTTPMessage

/// Header fields that a channel adds, replaces and removes, in the order of the file.
package struct HeaderRules: Sendable, Hashable {
    /// Added if the request does not have the field.
    package var defaults: [HeaderField]
    package var set: [HeaderField]
    /// Like `set`, for secret values that the API requires besides its credential, such as a subscription
    /// key; they are never shown.
    package var secrets: [HeaderSecret] = []
    package var remove: [String]
    package var via = Via.auto

    /// Whether netproxy names itself in `Via`, in requests and in responses.
    package enum Via: String, Sendable, CaseIterable {
        /// Only where a request could come back to this proxy: many servers compress nothing for a
        /// proxy (nginx's `gzip_proxied` is off by default).
        case auto
        case on
        case off
    }
}

/// The names of the fields that a channel edits: `netproxy why` explains them, and no app may imitate
/// them.
package struct EditedFields {
    /// Removed from the app's request.
    package var removed: [HTTPFieldName]
    /// Added if the request does not have the field.
    package var defaults: [HTTPFieldName]
    /// Set to the channel's value, whatever the app sent.
    package var replaced: [HTTPFieldName]

    package var all: [HTTPFieldName] { removed + defaults + replaced }
}
