/// The format of a log line.
package enum LogFormat: String, Sendable, CaseIterable, Codable {
    /// The line as encoded.
    case json
    /// `key=value` pairs, with dotted keys for nested values.
    case logfmt
    /// JSON with the field names of the Elastic Common Schema, version 8.
    case ecs
    /// The Combined Log Format of Apache and nginx, for exchanges only.
    case clf
}

/// The part of a query in the log.
package enum QueryMode: String, Sendable, CaseIterable {
    /// The names of its parameters, separated by commas.
    case keys
    /// The query as sent, except for the values of well-known credential parameters.
    case full
    /// No part of the query.
    case off
}
