package import NetproxyHTTPMessage

/// Header fields that a channel adds, replaces and removes, in the order of the file.
package struct HeaderRules: Sendable, Hashable {
    /// The fields to add if the request does not have them.
    package var defaults: [HeaderField]
    package var set: [HeaderField]
    /// Like `set`, for secret values that the API requires in addition to its credential, such as a
    /// subscription key; they are never shown.
    package var secrets: [HeaderSecret] = []
    package var remove: [String]
    package var via = Via.auto

    /// The policy for naming netproxy in `Via`, in requests and in responses.
    package enum Via: String, Sendable, CaseIterable {
        /// Only if a request could return to this proxy, because many servers do not compress for a proxy
        /// (nginx's `gzip_proxied` is off by default).
        case auto
        case on
        case off
    }
}

/// The names of the fields that a channel edits.
///
/// `netproxy why` explains them, and no client may imitate them.
package struct EditedFields {
    /// The fields removed from the client's request.
    package var removed: [HTTPFieldName]
    /// The fields added if the request does not have them.
    package var defaults: [HTTPFieldName]
    /// The fields set to the channel's value, regardless of the client's.
    package var replaced: [HTTPFieldName]

    package var all: [HTTPFieldName] { removed + defaults + replaced }
}
