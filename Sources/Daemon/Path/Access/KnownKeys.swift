import NetproxyHTTPMessage
import NetworkCore

/// All keys that open a channel, including the lent ones.
///
/// Keys are found by their hashes, so the number of channels does not affect the cost.
struct KnownKeys: Sendable {
    private let own: [Int: [Secret]]
    private let lengths: Set<Int>
    private let lent: ClientKeys?

    init(_ policies: [AccessPolicy]) {
        let keys = policies.compactMap(\.key)
        own = Dictionary(grouping: keys) { ClientKeys.hash($0) }
        lengths = Set(keys.map { $0.reveal().utf8.count })
        lent = policies.lazy.compactMap(\.lent?.keys).first
    }

    /// Returns the fields in which a client sent a key for this proxy, and the first lent key.
    func shown(in headers: HTTPHeaders) -> ShownKeys {
        var shown = ShownKeys()
        guard !own.isEmpty || lent?.isAnyOut == true else { return shown }
        for field in headers {
            let texts = [field.value] + PresentedKey.keys(in: field.value)
            guard let known = texts.lazy.compactMap(known).first else { continue }
            shown.fields.append(field.name)
            if case .lent(let key) = known, shown.lent == nil { shown.lent = key }
        }
        return shown
    }

    private enum Key {
        case own
        case lent(LentKey)
    }

    private func known(_ text: String) -> Key? {
        let length = text.utf8.count
        let mayBeLent = lent?.mayBeKey(length: length) == true
        guard mayBeLent || lengths.contains(length) else { return nil }
        let key = Secret(text)
        if own[ClientKeys.hash(key)]?.contains(key) == true { return .own }
        return mayBeLent ? lent?.lent(key).map(Key.lent) : nil
    }
}
