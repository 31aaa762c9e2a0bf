/// The name of a grant family in a store: in the name of a file, or in a key of a database.
package enum FamilyName {
    /// Returns the family with letters, digits, `-`, `_` and inner dots unchanged, the rest as `%XX`.
    package static func encoded(_ family: String) -> String {
        let encoded = FormEncoding.encode(family).replacing("*", with: "%2A")
        return encoded.hasPrefix(".") ? "%2E" + encoded.dropFirst() : encoded
    }

    /// Returns the family of a name; `nil` for a name that no family has.
    package static func family(named name: String) -> String? {
        guard let family = FormDecoding.decode(name).first?.name, encoded(family) == name else {
            return nil
        }
        return family
    }
}
