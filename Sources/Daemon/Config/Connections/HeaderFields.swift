import NetproxyHTTPMessage

/// The name and value of one header field.
package struct HeaderField: Sendable, Hashable {
    package var name: String
    package var value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

/// The name of a header field with a secret value, and the reference to that value.
package struct HeaderSecret: Sendable, Hashable {
    package var name: String
    package var value: SecretReference
}

/// The rules for the names and values of configured header fields.
enum HeaderFields {
    /// Whether the field describes a connection or message and netproxy sets it itself.
    static func isReserved(_ name: String) -> Bool {
        let name = name.lowercased()
        return name.hasPrefix("proxy-") || reserved.contains(name)
    }

    private static let reserved: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer",
        "upgrade", "via",
    ]

    /// Whether a rule may name the field; reports a reserved field.
    static func allows(_ name: String, at place: Place, in reading: Reading) -> Bool {
        guard isReserved(name) else { return true }
        reading.report("netproxy sets \(name) itself", at: place)
        return false
    }

    /// Whether an entry of a map names an allowed field for the first time; reports any other entry.
    static func accepts(
        _ entry: ConfigNode.Entry,
        among names: inout Set<String>,
        in slot: Slot
    ) -> Bool {
        guard Grammar.isToken(entry.key) else {
            let parent = slot.node?.path ?? slot.path
            let key = "\(parent).\(ConfigNode.keyName(entry.key))"
            slot.reading.report(
                "not a header name",
                at: Place(position: entry.keyPosition, key: key)
            )
            return false
        }
        guard allows(entry.key, at: entry.place, in: slot.reading) else {
            return false
        }
        guard names.insert(entry.key.lowercased()).inserted else {
            slot.reading.report("duplicate header, names are not case-sensitive", at: entry.place)
            return false
        }
        return true
    }

    /// Reads the value of a field.
    static func field(_ name: String, _ value: Slot) -> HeaderField? {
        Form<String>.fieldValue.read(value).map { HeaderField(name: name, value: $0) }
    }
}

extension Form {
    /// A map of header names with a reader for the values.
    static func headers<Field>(
        of shape: Shape = .opaque,
        _ read: @escaping @Sendable (_ name: String, _ value: Slot) -> Field?
    ) -> Form where Value == [Field] {
        let form = Form<[ConfigNode.Entry]>.entries("a map of header names", of: shape)
        return Form(form.shape) { slot in
            var names: Set<String> = []
            return (form.read(slot) ?? []).compactMap { entry in
                guard HeaderFields.accepts(entry, among: &names, in: slot) else { return nil }
                return read(entry.key, slot.with(entry.value))
            }
        }
    }
}

extension Form<String> {
    /// A header name.
    static var fieldName: Form { .text("a header name", where: Grammar.isToken) }

    /// The name of a header field that netproxy does not write itself.
    static var ownFieldName: Form {
        .quiet("a header name that netproxy does not write itself") { text in
            Grammar.isToken(text) && !HeaderFields.isReserved(text) ? text : nil
        }
    }

    /// The value of a header field, which may be a credential.
    static var fieldValue: Form {
        Form(.opaque) { slot in
            guard let text = slot.text, Grammar.isFieldValue(text) else {
                slot.report(
                    "expected a header value without control characters or leading or trailing spaces"
                )
                return nil
            }
            return text
        }
    }
}
