/// How much of a query the log shows.
package enum QueryMode: String, Sendable, CaseIterable {
    /// The names of its parameters, with commas between them.
    case keys
    /// The query as it was sent, but for the values of well-known credential parameters.
    case full
    /// Nothing.
    case off
}
