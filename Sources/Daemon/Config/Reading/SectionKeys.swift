/// The keys of one map of the configuration.
///
/// Each stored property is a ``Key``, or a group of keys that several maps share.
protocol SectionKeys: Sendable {
    /// The declared keys: `KeyTable(Self())`.
    static var table: KeyTable<Self> { get }
    /// An example of the map, for the error about another value instead of it.
    static var example: String? { get }
    /// Returns the error about a key that is unknown here for a special reason.
    static func objection(to key: String) -> String?

    /// The declared key below which an undeclared one belongs, if any; its absence is not reported as well.
    static func home(of key: String) -> String?
}

extension SectionKeys {
    static var example: String? { nil }
    static func objection(to key: String) -> String? { nil }
    static func home(of key: String) -> String? { nil }

    static var declared: [any DeclaredKey] { table.declared }

    /// Returns the shape of a declared key's value.
    static func shape(of key: String) -> Shape? {
        table.declared.first { $0.name == key }?.shape
    }
}

/// The declared keys of a map, in the order of their declarations.
struct KeyTable<Keys: SectionKeys>: Sendable {
    let keys: Keys
    let declared: [any DeclaredKey]
    let names: [String]

    /// Collects the keys that are stored properties, and `more` from a registry.
    init(_ keys: Keys, and more: [any DeclaredKey] = []) {
        self.keys = keys
        // The properties are the list, so that no key can be missing from it.
        let own = Mirror(reflecting: keys).children.flatMap { child -> [any DeclaredKey] in
            switch child.value {
            case let key as any DeclaredKey: [key]
            case let group as any SectionKeys: type(of: group).declared
            default: []
            }
        }
        declared = more + own
        names = declared.map(\.name)
    }
}

/// The declaration of a key, without the type of its value.
protocol DeclaredKey: Sendable {
    var name: String { get }
    var shape: Shape { get }
    var preset: Preset? { get }
}
