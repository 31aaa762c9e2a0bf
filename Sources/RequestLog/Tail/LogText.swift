/// What a text from a log may do to the terminal that shows it.
enum LogText {
    /// Whether a terminal would obey it: a control character, or one that turns the direction of
    /// writing, so that a line would read as another (CVE-2021-42574).
    static func isObeyed(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control || scalar.properties.isBidiControl
    }
}
