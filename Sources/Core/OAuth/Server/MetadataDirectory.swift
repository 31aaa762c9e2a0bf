import FoundationEssentials
public import NetworkCore

/// Fetches and caches the metadata of one authorization server.
///
/// An actor on the default executor. Only token requests use it, never the requests of apps.
public actor MetadataDirectory {
    /// The lifetime of cached metadata: a day, since endpoints rarely move.
    private static let lifetime = Duration.seconds(24 * 3600)
    /// The minimum time between two fetches.
    private static let refreshAfter = Duration.seconds(60)
    /// The maximum duration of a fetch over all well-known places.
    private static let timeout = Duration.seconds(10)
    /// The same if cached metadata can be used instead: the token request has 10 s for both.
    private static let renewalTimeout = Duration.seconds(3)
    /// The largest accepted document: 256 KiB.
    private static let limit = 256 * 1024

    /// The issuer identifier; compared byte for byte.
    public nonisolated let issuer: String
    private let transport: any HTTPTransport
    private let clock: any NetworkClock
    private let serverClock: ServerClock?
    private let plainHTTP: ServerEndpoint.PlainHTTP
    private let standing: IssuerStanding
    private var known: (metadata: ServerMetadata, at: ContinuousClock.Instant)?
    private var search: Task<Result<ServerMetadata, MetadataError>, Never>?
    private var isInvalid = false
    /// The end of the last fetch, successful or not.
    private var lookedAt: ContinuousClock.Instant?

    /// Names a server; nothing is sent yet.
    ///
    /// - Parameters:
    ///   - issuer: its issuer identifier, exactly as the server writes it.
    ///   - transport: must not be one that injects tokens.
    ///   - clock: measures the age of the metadata.
    ///   - serverClock: learns the server's time of day.
    ///   - plainHTTP: whether `http` is accepted for hosts other than this machine.
    public init(
        issuer: String,
        transport: any HTTPTransport,
        clock: any NetworkClock = SystemClock(),
        serverClock: ServerClock? = nil,
        plainHTTP: ServerEndpoint.PlainHTTP = .refused
    ) {
        self.init(
            .configured,
            issuer: issuer,
            transport: transport,
            clock: clock,
            serverClock: serverClock,
            plainHTTP: plainHTTP
        )
    }

    /// Names a server, which a protected resource may have named.
    package init(
        _ standing: IssuerStanding,
        issuer: String,
        transport: any HTTPTransport,
        clock: any NetworkClock = SystemClock(),
        serverClock: ServerClock? = nil,
        plainHTTP: ServerEndpoint.PlainHTTP = .refused
    ) {
        self.issuer = issuer
        self.serverClock = serverClock
        self.transport = transport
        self.clock = clock
        self.plainHTTP = plainHTTP
        self.standing = standing
    }

    /// Returns the metadata, cached or fetched now.
    ///
    /// Concurrent callers share one fetch. Cached metadata stays in use when fetching it again fails,
    /// which is retried after a minute.
    ///
    /// - Throws: `MetadataError`.
    public func metadata() async throws(MetadataError) -> ServerMetadata {
        if let known {
            let now = clock.now
            if now - known.at < Self.lifetime, !isInvalid { return known.metadata }
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

    /// Marks the metadata as outdated: a token request failed, and the endpoint may have moved.
    public func invalidate() { isInvalid = true }

    private func begin() -> Task<Result<ServerMetadata, MetadataError>, Never> {
        // Not a child of the caller's task: cancelling the caller does not end it.
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
            isInvalid = false
            return .success(metadata)
        } catch {
            return .failure(error)
        }
    }

    /// Tries the well-known places, one after the other, until one has the document.
    ///
    /// Servers without a document there often send an HTML page or a redirect elsewhere instead of 404.
    private func find() async throws(MetadataError) -> ServerMetadata {
        guard let base = ServerEndpoint(issuer), !base.target.contains("?") else {
            throw MetadataError("the issuer \(issuer) is not a URL without query and fragment")
        }
        guard base.isAcceptable(plainHTTP) else {
            throw MetadataError("the issuer \(issuer) is not https")
        }
        let deadline = clock.now + (known == nil ? Self.timeout : Self.renewalTimeout)
        var missing: HTTPStatus = 404
        var fault: MetadataError?
        for target in MetadataDirectory.places(of: base.target) {
            let (response, body) = try await fetch(
                Request(origin: base.origin, target: target),
                until: deadline
            )
            let status = response.status
            if status == 200 {
                do {
                    return try ServerMetadata(
                        body.array,
                        from: issuer,
                        plainHTTP: plainHTTP,
                        standing: standing
                    )
                } catch {
                    guard error.kind == .notMetadata else { throw error }
                    fault = fault ?? error
                }
            } else if status.kind == .clientError, status != 429, status != 408 {
                missing = status
            } else {
                let error = MetadataError(
                    "could not fetch metadata for \(issuer): \(base.origin) answered "
                        + response.statusWords,
                    status.kind == .redirection ? .lasting : .transient
                )
                // Another place may have the document; if none does, this one may have it later.
                fault = error.isTransient ? error : fault ?? error
            }
        }
        if let fault { throw fault }
        throw MetadataError(
            "\(base.origin) has no metadata for the issuer \(issuer) (\(missing)); check issuer, or "
                + "set the endpoint URLs"
        )
    }

    private func fetch(
        _ request: Request,
        until deadline: ContinuousClock.Instant
    ) async throws(MetadataError) -> (Response, ByteSlice) {
        var request = request
        request.headers = [.accept: "application/json", .acceptEncoding: "identity"]
        do {
            let answer = try await DocumentReader(over: transport, clock: clock)
                .document(for: request, upTo: Self.limit, until: deadline)
            serverClock?.learn(from: answer.response.headers)
            return answer
        } catch {
            throw MetadataError(
                "could not fetch metadata for \(issuer) (\(NetworkError.words(of: error)))",
                .transient
            )
        }
    }

    /// The paths to try: RFC 8414 §3.1 puts the well-known part before the issuer's path, OpenID Connect
    /// Discovery §4 after it.
    static func places(of target: String) -> [String] {
        let path = target.hasSuffix("/") ? String(target.dropLast()) : target
        let prefixed = ["/.well-known/oauth-authorization-server\(path)"]
        let openID = "/.well-known/openid-configuration"
        return prefixed + (path.isEmpty ? [openID] : [path + openID, openID + path])
    }
}
