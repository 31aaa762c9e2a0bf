package import NetproxyHTTPMessage
package import NetproxySettings

/// The labels common to all lines of a channel, and the permitted contents of its exchanges.
package struct LogLabels: Sendable {
    /// The name of the log for netproxy's own events and for requests that match no channel.
    package static let ownLog = "netproxy"

    /// The channel's name; nil for netproxy's own log.
    package var channel: String?
    /// The channel's `log.subsystem`.
    package var subsystem: String?
    /// The channel's `log.category`.
    package var category: String?
    /// The permitted part of the query.
    package var query: QueryMode
    /// The fields with visible values, from `log.headers`.
    package var headers: [HTTPFieldName]
    /// The fields that contain the channel's credentials; their values are never logged.
    package var credentialFields: [HTTPFieldName]
    /// The query parameter that contains the channel's credential; its value is never logged.
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
