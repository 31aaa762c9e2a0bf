/// Text between the tags of a page.
enum HTMLText {
    /// The text with references for what would be markup; no attribute's value.
    static func of(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
