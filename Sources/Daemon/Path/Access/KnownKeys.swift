import NetproxyHTTP1
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

    /// Whether any key exists now.
    var isAny: Bool { !own.isEmpty || lent?.isAnyOut == true }

    /// Returns the places in which a client sent a key for this proxy, and the first lent key.
    func shown(in head: borrowing RequestHead) -> ShownKeys {
        var shown = ShownKeys()
        guard isAny else { return shown }
        for (line, field) in head.headers.enumerated() {
            let texts = [field.value] + PresentedKey.keys(in: field.value)
            if shown.note(worth(texts)) != .nothing {
                shown.fields.append(field.name)
            } else {
                _ = shown.note(elementsOf: field, at: line, worth)
            }
        }
        for parameter in head.target.pathAndQuery.map(QueryParameter.all) ?? []
        where shown.note(worth(PresentedKey.keys(inParameter: parameter))) != .nothing {
            shown.parameters.insert(String(parameter))
        }
        return shown
    }

    private func worth(_ texts: [String]) -> KeyWorth {
        for text in texts {
            let length = text.utf8.count
            let mayBeLent = lent?.mayBeKey(length: length) == true
            guard mayBeLent || lengths.contains(length) else { continue }
            let key = Secret(text)
            if own[ClientKeys.hash(key)]?.contains(key) == true { return KeyWorth(.isKey) }
            if mayBeLent, let lent = lent?.lent(key) { return KeyWorth(.isKey, lent) }
        }
        return KeyWorth(.nothing)
    }
}
