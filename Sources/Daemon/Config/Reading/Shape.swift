/// The values that a key accepts, in the detail needed by a JSON schema and a comparison of two
/// configurations.
///
/// The form of a key states its shape together with its reader; only the reader decides.
indirect enum Shape: Sendable {
    /// A text that may be or contain a credential.
    case opaque
    case text, flag, duration, size, secret, url, path, share
    case number(ClosedRange<Int>)
    case choice([String])
    /// A value, a list of values, or off.
    case list(Shape)
    case either([Shape])
    case map(any SectionKeys.Type)
    /// A map with arbitrary names as keys.
    case named(Shape)
    /// Any value that is not a credential.
    case value
    /// Maps of these keys, with arbitrary names: channels and identities.
    case records(any SectionKeys.Type)

    static var off: Shape { .choice(["off"]) }

    /// Returns the union of two shapes.
    func or(_ other: Shape) -> Shape { .either(alternatives + other.alternatives) }

    private var alternatives: [Shape] {
        if case .either(let shapes) = self { shapes } else { [self] }
    }
}

extension Shape {
    /// Whether a value may be a credential.
    var isPrivate: Bool {
        switch self {
        case .secret, .opaque: true
        case .list(let shape), .named(let shape): shape.isPrivate
        case .either(let shapes):
            shapes.contains { shape in
                // The other shapes determine whether a scalar instead of the map is private.
                if case .map = shape { false } else { shape.isPrivate }
            }
        case .text, .flag, .duration, .size, .url, .path, .share, .number, .choice, .value: false
        // A misplaced value instead of the map could be anything.
        case .map, .records: true
        }
    }

    /// The shape of a list's item.
    var item: Shape {
        if case .list(let shape) = self { shape } else { .opaque }
    }

    /// Returns the shape of a key of the map.
    func child(_ key: String) -> Shape {
        switch self {
        case .map(let keys): keys.shape(of: key) ?? .opaque
        case .records(let keys): .map(keys)
        case .named(let shape): shape
        case .either(let shapes):
            shapes.first { if case .map = $0 { true } else { false } }?.child(key) ?? .opaque
        default: .opaque
        }
    }
}
