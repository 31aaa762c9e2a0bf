import HTTPMessage
import NetworkCore

/// All keys that open a channel, its own and lent ones: found by their hashes, so that it costs the
/// same with one channel and with a thousand.
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

    /// The fields in which an app shows a key for this proxy.
    func fields(of headers: HTTPHeaders) -> [HTTPFieldName] {
        guard !own.isEmpty || lent?.isAnyOut == true else { return [] }
        return headers.filter { isKey($0.value) }.map(\.name)
    }

    /// Whether a field's value is or contains a key.
    private func isKey(_ value: String) -> Bool {
        isKnown(value) || PresentedKey.keys(in: value).contains(where: isKnown)
    }

    private func isKnown(_ text: String) -> Bool {
        let length = text.utf8.count
        let mayBeLent = length == ClientKeys.length && lent?.isAnyOut == true
        guard mayBeLent || lengths.contains(length) else { return false }
        let key = Secret(text)
        if own[ClientKeys.hash(key)]?.contains(key) == true { return true }
        return mayBeLent && lent?.standing(of: key, at: "") ?? .unknown != .unknown
    }
}
