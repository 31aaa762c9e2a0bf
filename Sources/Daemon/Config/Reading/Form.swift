/// The form of a key's value: its reader and its shape.
struct Form<Value>: Sendable {
    let shape: Shape
    /// Reads a written value; reports an invalid value and returns nil.
    let read: @Sendable (Slot) -> Value?

    init(_ shape: Shape, _ read: @escaping @Sendable (Slot) -> Value?) {
        (self.shape, self.read) = (shape, read)
    }
}

extension Form {
    /// A value, or `off` for nil.
    static func off<Wrapped>(or form: Form<Wrapped>) -> Form where Value == Wrapped? {
        Form(form.shape.or(.off)) { slot in
            slot.isOff ? .some(nil) : form.read(slot).map(Optional.some)
        }
    }

    /// A list, or a single value as a list; `off` is an empty list.
    static func list<Item>(_ item: Form<Item>) -> Form where Value == [Item] {
        Form(.list(item.shape)) { slot in
            slot.isOff ? [] : slot.items.compactMap { item.read(slot.with($0)) }
        }
    }

    /// A map of declared keys.
    static func map<Keys: SectionKeys>(_: Keys.Type) -> Form where Value == Section<Keys> {
        Form(.map(Keys.self)) { Section($0) }
    }

    /// A map of declared keys, or another value instead.
    static func either<Scalar, Keys: SectionKeys>(
        _ scalar: Form<Scalar>,
        or _: Keys.Type
    ) -> Form where Value == ScalarOrMap<Scalar, Keys> {
        Form(scalar.shape.or(.map(Keys.self))) { slot in
            slot.node?.entries == nil ? scalar.read(slot).map(Value.scalar) : .map(Section(slot))
        }
    }

    /// A value for another reader.
    static func unread(_ shape: Shape) -> Form where Value == ConfigNode {
        Form(shape) { $0.node }
    }
}

/// A map of declared keys, or another value instead.
enum ScalarOrMap<Scalar, Keys: SectionKeys> {
    case scalar(Scalar)
    case map(Section<Keys>)

    var map: Section<Keys>? {
        if case .map(let section) = self { section } else { nil }
    }
}

extension Form<[ConfigNode.Entry]> {
    /// A map with arbitrary names as keys; null removes a default.
    static func entries(_ expected: String = "a map", of shape: Shape) -> Form {
        Form(.named(shape)) { slot in
            guard let node = slot.node else { return nil }
            guard let entries = node.entries else {
                slot.reading.report("expected \(expected), found \(node.kind)", at: node)
                return nil
            }
            return entries.filter { !$0.value.isNull }
        }
    }

    /// Maps of declared keys, with arbitrary names.
    static func records<Keys: SectionKeys>(_ expected: String, of _: Keys.Type) -> Form {
        Form(.records(Keys.self)) { slot in
            guard let node = slot.node else { return nil }
            if let entries = node.entries { return entries }
            slot.reading.report("expected \(expected), found \(node.found)", at: node)
            return nil
        }
    }
}
