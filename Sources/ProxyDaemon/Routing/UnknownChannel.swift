/// Somebody named a channel that there is not.
package struct UnknownChannel: CustomStringConvertible {
    private let name: String
    private let present: [String]

    /// Says which one, and which ones there are.
    package init(name: String, present: [String]) {
        self.name = name
        self.present = present
    }

    /// For a person, who may have mistyped it.
    package var description: String {
        "there is no channel \(name); there are: \(present.joined(separator: ", "))"
    }
}
