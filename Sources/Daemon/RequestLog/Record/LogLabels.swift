package import NetproxyHTTPMessage

/// What every line of a channel has in common, and what may be shown of its exchanges.
package struct LogLabels: Sendable {
    /// The name of the log of netproxy's own events and of requests that match no channel.
    package static let ownLog = "netproxy"

    /// The channel's name; nil for netproxy's own log.
    package var channel: String?
    /// The channel's `log.subsystem`.
    package var subsystem: String?
    /// The channel's `log.category`.
    package var category: String?
    /// How much of the query is shown.
    package var query: QueryMode
    /// The fields whose values are shown, from `log.headers`.
    package var headers: [HTTPFieldName]
    /// The fields with the channel's credentials; their values are never shown.
    package var credentialFields: [HTTPFieldName]
    /// The parameter of the query with the channel's credential; its value is never shown.
    package var credentialParameter: String?

    /// Creates the labels of a channel's log.
    package init(
        channel: String? = nil,
        subsystem: String? = nil,
        category: String? = nil,
        query: QueryMode = .keys,
        headers: [HTTPFieldName] = [],
        credentialFields: [HTTPFieldName] = [],
        credentialParameter: String? = nil
    ) {
        self.channel = channel
        self.subsystem = subsystem
        self.category = category
        self.query = query
        self.headers = headers
        self.credentialFields = credentialFields
        self.credentialParameter = credentialParameter
    }
}

/// How much of a query the log shows.
package enum QueryMode: String, Sendable, CaseIterable {
    /// The names of its parameters, separated by commas.
    case keys
    /// The query as it was sent, except for the values of well-known credential parameters.
    case full
    /// No part of it.
    case off
}
