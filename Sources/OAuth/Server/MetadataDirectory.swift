import FoundationEssentials
public import NetworkCore

/// Finds and keeps the metadata of one authorization server.
///
/// An actor on the default executor; asked by token requests only, never by the requests of apps.
public actor MetadataDirectory {
    /// How long metadata is kept: a day, as endpoints hardly ever move.
    private static let lifetime = Duration.seconds(24 * 3600)
    /// How soon after a failed token request they are looked at again.
    private static let refreshAfter = Duration.seconds(60)
    /// How long a search may take, at however many places.
    private static let timeout = Duration.seconds(10)
    /// The same while other metadata is known: the token request has 10 s for both.
    private static let renewalTimeout = Duration.seconds(3)
    /// The longest document that is read: 256 KiB.
    private static let limit = 256 * 1024

    /// Whom it is about; compared byte for byte.
    public nonisolated let issuer: String
    private let transport: any HTTPTransport
    private let clock: any NetworkClock
    private let serverClock: ServerClock?
    private let allowsInsecure: Bool
    private var known: (metadata: ServerMetadata, at: ContinuousClock.Instant)?
    private var search: Task<Result<ServerMetadata, MetadataError>, Never>?
    private var isDoubted = false
    /// When it was looked for last, with or without success.
    private var lookedAt: ContinuousClock.Instant?

    /// Names a server; nothing is asked yet.
    ///
    /// - Parameters:
    ///   - issuer: its issuer identifier, exactly as the server writes it.
    ///   - transport: must not be one that injects tokens.
    ///   - clock: measures how old the metadata is.
    ///   - serverClock: learns what time it is there.
    ///   - allowsInsecure: whether `http` URLs beyond this machine are taken.
    public init(
        issuer: String,
        transport: any HTTPTransport,
        clock: any NetworkClock = SystemClock(),
        serverClock: ServerClock? = nil,
        allowsInsecure: Bool = false
    ) {
        self.issuer = issuer
        self.serverClock = serverClock
        self.transport = transport
        self.clock = clock
        self.allowsInsecure = allowsInsecure
    }

    /// The metadata: as kept, or asked for now.
    ///
    /// However many ask at once, the server is asked once. What is kept outlives a failure to
    /// renew it, which is tried again after a minute.
    ///
    /// - Throws: `MetadataError`.
    public func metadata() async throws(MetadataError) -> ServerMetadata {
        if let known {
            let now = clock.now
            if now - known.at < Self.lifetime, !isDoubted { return known.metadata }
            if let lookedAt, now - lookedAt < Self.refreshAfter { return known.metadata }
        }
        let task = search ?? begin()
        switch await task.value {
        case .success(let metadata): return metadata
        case .failure(let error):
            if let known { return known.metadata }
            throw error
        }
    }

    /// A token request failed: perhaps an endpoint has moved.
    public func doubt() { isDoubted = true }

    private func begin() -> Task<Result<ServerMetadata, MetadataError>, Never> {
        // The directory's own: a caller that goes away does not end it.
        let task = Task { await look() }
        search = task
        return task
    }

    private func look() async -> Result<ServerMetadata, MetadataError> {
        defer {
            search = nil
            lookedAt = clock.now
        }
        do throws(MetadataError) {
            let metadata = try await find()
            known = (metadata, clock.now)
            isDoubted = false
            return .success(metadata)
        } catch {
            return .failure(error)
        }
    }

    /// Asks at the well-known places, one after the other, until one has the document.
    ///
    /// Servers that have none there answer with a page of theirs or send a browser to one, as often
    /// as with 404.
    private func find() async throws(MetadataError) -> ServerMetadata {
        guard let base = ServerEndpoint(issuer), !base.target.contains("?") else {
            throw MetadataError("the issuer \(issuer) is not a URL without query and fragment")
        }
        guard base.isPrivate || allowsInsecure else {
            throw MetadataError("the issuer \(issuer) is not https")
        }
        let deadline = clock.now + (known == nil ? Self.timeout : Self.renewalTimeout)
        var missing: HTTPStatus = 404
        var fault: MetadataError?
        for target in MetadataDirectory.places(of: base.target) {
            let (status, body) = try await fetch(
                Request(origin: base.origin, target: target),
                until: deadline
            )
            if status == 200 {
                do {
                    return try ServerMetadata(body, from: issuer, allowsInsecure: allowsInsecure)
                } catch {
                    guard error.isOfAnotherDocument else { throw error }
                    fault = fault ?? error
                }
            } else if status.kind == .clientError, status != 429, status != 408 {
                missing = status
            } else {
                let error = MetadataError(
                    "the metadata of \(issuer) cannot be had: \(base.origin) answered \(status)",
                    isTransient: status.kind != .redirection
                )
                // What stands elsewhere may be good; if nothing does, this place may have it later.
                fault = error.isTransient ? error : fault ?? error
            }
        }
        if let fault { throw fault }
        throw MetadataError(
            "\(base.origin) has no metadata for the issuer \(issuer) (\(missing)); check issuer, or "
                + "give the URLs by hand"
        )
    }

    private func fetch(
        _ request: Request,
        until deadline: ContinuousClock.Instant
    ) async throws(MetadataError) -> (HTTPStatus, [UInt8]) {
        var request = request
        request.headers = [.accept: "application/json", .acceptEncoding: "identity"]
        do {
            let (response, body) = try await transport.answer(
                to: request,
                upTo: Self.limit,
                until: deadline,
                on: clock
            )
            serverClock?.learn(from: response.headers)
            return (response.status, body.array)
        } catch {
            throw MetadataError(
                "the metadata of \(issuer) cannot be had (\(NetworkError.words(of: error)))",
                isTransient: true
            )
        }
    }

    /// RFC 8414 §3.1 puts the well-known part in front of the issuer's path, OpenID Connect
    /// Discovery §4 behind it.
    static func places(of target: String) -> [String] {
        let path = target.hasSuffix("/") ? String(target.dropLast()) : target
        let inFront = ["/.well-known/oauth-authorization-server\(path)"]
        let openID = "/.well-known/openid-configuration"
        return inFront + (path.isEmpty ? [openID] : [path + openID, openID + path])
    }
}
