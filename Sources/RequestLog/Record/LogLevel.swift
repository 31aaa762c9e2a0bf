/// How much a line matters.
package enum LogLevel: String, Sendable, CaseIterable {
    case info, warning, error
}
