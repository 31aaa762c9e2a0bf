/// What a text from elsewhere may do to the terminal that shows it.
package enum TerminalText {
    /// Whether a terminal would obey it: a control character, or one that turns the direction of
    /// writing, so that a line would read as another (CVE-2021-42574).
    package static func isObeyed(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control || scalar.properties.isBidiControl
    }
}
