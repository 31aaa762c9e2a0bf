import NetworkCore
import OAuth

/// Requests credentials from a service on or near this machine, and learns its time of day.
struct MetadataExchange: Sendable {
    /// Credentials are a few hundred bytes; tokens of some size go with them.
    private static let limit = 64 * 1024

    /// Names the service in errors.
    let name: String
    let transport: any HTTPTransport
    let clock: any NetworkClock
    let serverClock: ServerClock

    init(_ name: String, over transport: any HTTPTransport, clock: any NetworkClock) {
        self.name = name
        self.transport = transport
        self.clock = clock
        serverClock = ServerClock(clock: clock)
    }

    /// Sends a request and returns status and content.
    ///
    /// - Throws: `TokenFailure` if no response arrives in time.
    func answer(
        to request: Request,
        until deadline: ContinuousClock.Instant
    ) async throws(TokenFailure) -> (status: HTTPStatus, content: [UInt8]) {
        do {
            let answer = try await DocumentReader(over: transport, clock: clock)
                .document(for: request, upTo: Self.limit, until: deadline)
            serverClock.learn(from: answer.response.headers)
            return (answer.response.status, answer.content.array)
        } catch {
            throw TokenFailure(
                .transient,
                detail:
                    "cannot query \(name) at \(request.origin): \(NetworkError.words(of: error))"
            )
        }
    }

    /// Sends a request and returns the content of its response.
    ///
    /// - Throws: `TokenFailure` if the response is not successful.
    func content(
        of request: Request,
        until deadline: ContinuousClock.Instant
    ) async throws(TokenFailure) -> [UInt8] {
        let (status, content) = try await answer(to: request, until: deadline)
        guard status == 200 else {
            throw TokenFailure(
                .transient,
                detail: "\(name) at \(request.origin) answered \(status.rawValue)"
            )
        }
        return content
    }
}
