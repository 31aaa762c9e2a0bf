package import HTTPMessage

/// What is the same in every line of a channel, and what may be shown of its exchanges.
package struct LogLabels: Sendable {
    /// The channel's name; nothing for `netproxy.log`.
    package var channel: String?
    /// The channel's `log.subsystem`.
    package var subsystem: String?
    /// The channel's `log.category`.
    package var category: String?
    /// How much of the query is shown.
    package var query: QueryMode
    /// The fields whose values are shown, from `log.headers`.
    package var headers: [HTTPFieldName]
    /// The fields that carry the channel's credentials; their values are never shown.
    package var credentialFields: [HTTPFieldName]

    /// Describes a channel's log.
    package init(
        channel: String? = nil,
        subsystem: String? = nil,
        category: String? = nil,
        query: QueryMode = .keys,
        headers: [HTTPFieldName] = [],
        credentialFields: [HTTPFieldName] = []
    ) {
        self.channel = channel
        self.subsystem = subsystem
        self.category = category
        self.query = query
        self.headers = headers
        self.credentialFields = credentialFields
    }
}
