/// A key of a map in the configuration, declared once: its name, the form of its value, and its default.
///
/// Readers, errors, the JSON schema and `reload --plan` derive from the declaration. A key whose default
/// depends on other keys has no declared default; its value is optional.
struct Key<Value>: DeclaredKey {
    let name: String
    let shape: Shape
    let preset: Preset?
    private let read: @Sendable (Slot) -> Value

    /// Creates a key with a default, written like a value of the configuration.
    init(_ name: String, _ form: Form<Value>, default preset: Preset) {
        (self.name, shape, self.preset) = (name, form.shape, preset)
        read = { slot in
            if slot.isWritten, let value = form.read(slot) { return value }
            guard let value = form.read(slot.with(preset)) else {
                preconditionFailure("the default of \(name) is invalid")
            }
            return value
        }
    }

    /// Creates a key without a default; its value is nil if it is missing or invalid.
    init<Wrapped>(_ name: String, _ form: Form<Wrapped>) where Value == Wrapped? {
        (self.name, shape, preset) = (name, form.shape, nil)
        read = { slot in slot.isWritten ? form.read(slot) : nil }
    }

    /// Creates a key whose value is a map of declared keys; a missing map has no keys.
    init<Keys: SectionKeys>(_ name: String, _: Keys.Type) where Value == Section<Keys> {
        (self.name, shape, preset) = (name, .map(Keys.self), nil)
        read = { Section($0) }
    }

    /// Reads the value; reports an invalid value and returns the default.
    func value(in slot: Slot) -> Value { read(slot) }
}
