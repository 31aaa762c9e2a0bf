import NetproxyBytes
import Synchronization

/// The secrets that one exchange has sent, for the parts of the response that arrive after its head.
package final class SentSecrets: Sendable {
    /// The text that replaces a secret.
    ///
    /// It is valid in URLs, JSON and HTML. A client that repeats it in the place of the credential gets the
    /// credential there.
    static let mark = Array(PathTemplate.encodedMarker.utf8)

    private let searches: [SecretSearch]
    private let wasEchoed = Atomic(false)
    /// Whether the response contained a secret.
    package var isEchoed: Bool { wasEchoed.load(ordering: .relaxed) }

    fileprivate init(_ searches: [SecretSearch]) {
        self.searches = searches
    }

    /// Removes the secrets from the trailer fields, if there are any.
    package func remove(from trailers: inout HTTPHeaders?) {
        guard var fields = trailers else { return }
        remove(from: &fields)
        trailers = fields
    }

    /// Removes the secrets from a field section.
    fileprivate func remove(from headers: inout HTTPHeaders) {
        guard searches.contains(where: headers.contains) else { return }
        wasEchoed.store(true, ordering: .relaxed)
        let mark = PathTemplate.encodedMarker
        var edited = HTTPHeaders()
        for field in headers {
            let value = searches.reduce(field.value) { $1.hiding(in: $0, by: mark) }
            edited.append(field.name, validated: value)
        }
        headers = edited
    }

    /// Returns content without the secrets.
    package func removed(from body: HTTPBody) -> HTTPBody {
        switch body {
        case .empty, .tunnel: return body
        case .bytes(let bytes):
            var filter = EchoFilter(searches)
            let edited = filter.filter(bytes, .last)
            if filter.hasFound { noteEcho() }
            return .bytes(edited ?? ByteSlice([]))
        case .stream(let source, _):
            return .stream(ScrubbedBody(source, of: self), length: nil)
        }
    }

    fileprivate var filter: EchoFilter { EchoFilter(searches) }
    fileprivate func noteEcho() { wasEchoed.store(true, ordering: .relaxed) }
}

extension HTTPHeaders {
    /// Whether the value of a field contains a secret.
    @inline(__always)
    fileprivate func contains(_ search: SecretSearch) -> Bool {
        containsValue(ofAtLeast: search.shortest, where: search.isFound)
    }
}

extension RequestContext {
    /// Removes the sent secrets from a field section of the response, if the exchange does so.
    package mutating func scrub(_ headers: inout HTTPHeaders) {
        guard let scrubbed, mayBeEchoed(in: headers, scrubbed) else { return }
        sentSecrets?.remove(from: &headers)
        hasEcho = true
    }

    @inline(__always)
    private func mayBeEchoed(in headers: HTTPHeaders, _ others: SecretSearch) -> Bool {
        headers.contains(others)
            || sentCredential.map { headers.contains($0.echoes) } ?? false
            || earlierCredentials.contains { headers.contains($0.echoes) }
    }

    /// The secrets that the exchange has sent so far; `nil` if it has sent none, or does not search responses.
    package var sentSecrets: SentSecrets? {
        guard let scrubbed else { return nil }
        let credentials = [sentCredential].compactMap { $0 } + earlierCredentials
        let searches = ([scrubbed] + credentials.map(\.echoes)).filter { $0.shortest < .max }
        return searches.isEmpty ? nil : SentSecrets(searches)
    }
}

/// Content without the secrets of a request, in bounded memory.
private final class ScrubbedBody: BodySource {
    private struct State {
        var filter: EchoFilter
        var isAtEnd = false
    }

    private let source: any BodySource
    private let secrets: SentSecrets
    private let state: Mutex<State>

    init(_ source: any BodySource, of secrets: SentSecrets) {
        self.source = source
        self.secrets = secrets
        state = Mutex(State(filter: secrets.filter))
    }

    func next() async throws -> ByteSlice? {
        while !state.withLock({ $0.isAtEnd }) {
            let piece = try await source.nextUnlessCancelled()
            if let piece = filter(piece) { return piece }
        }
        return nil
    }

    func buffered() -> ByteSlice? {
        while let piece = source.buffered() {
            if let piece = filter(piece) { return piece }
        }
        return nil
    }

    private func filter(_ piece: ByteSlice?) -> ByteSlice? {
        let (filtered, hasFound) = state.withLock { state in
            if piece == nil { state.isAtEnd = true }
            let part = state.filter.filter(piece ?? ByteSlice([]), piece == nil ? .last : .more)
            return (part, state.filter.hasFound)
        }
        if hasFound { secrets.noteEcho() }
        return filtered
    }

    func trailers() -> HTTPHeaders? { source.trailers() }
    func cancel() { source.cancel() }
}
