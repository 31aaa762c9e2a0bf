import NetproxyBytes
import NetproxyConfig
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyRequestLog
import NetworkCore
import OAuth

/// One request and the known facts about its response, until the record is written.
package struct Exchange: ~Copyable {
    /// The head of the client's request; its field section moves to the upstream request.
    var head: RequestHead
    private(set) var channel: Channel?
    private(set) var rule: RoutingRule?
    /// The listener's own channel, if it has one.
    let dedicated: String?
    /// The role in which the client addresses netproxy.
    let role: PerceivedRole
    /// The form of gRPC, if the request is a call; it determines the form of errors.
    private(set) var call: RPCForm?
    /// The origin of the listed web page that sent the request and may read the response.
    var page: String?
    /// The record for the log; `end` completes it.
    var record: ExchangeRecord
    /// The known fields of the client's request.
    let fields: KnownFieldSet
    /// The known fields of the upstream request before the channel's rules; empty if there is none.
    private(set) var forwarded = KnownFieldSet.none
    /// The request's fields that only the channel's rules name, one bit each.
    private(set) var rareFields: UInt64 = 0
    /// The fields with credentials that the client sent and that go upstream.
    private var confidential: [HTTPFieldName] = []
    /// The response fields that lead past netproxy.
    var leads = LeadsAway()
    /// The summary of the challenges in the response.
    private var challenge: String?
    private let started: UInt64

    /// Begins the exchange of a head.
    ///
    /// No property changes here once it has its value: a change would copy the whole exchange.
    init(
        of head: consuming RequestHead,
        from peer: SocketPeer,
        on loop: EventLoop,
        id: String,
        as role: PerceivedRole = .origin,
        dedicated: String? = nil
    ) {
        (self.role, self.dedicated) = (role, dedicated)
        record = ExchangeRecord(
            time: WallTime(nanosecondsSince1970: loop.wallNow),
            requestID: id,
            client: peer.address,
            method: head.method.rawValue,
            target: head.target.pathAndQuery ?? ""
        )
        fields = head.headers.knownFields
        started = loop.now
        self.head = head
    }

    /// Records that the head is a substitute for an unreadable one.
    mutating func noteUnreadable() {
        record.method = ""
        record.target = ""
        call = RPCForm(of: head.headers)
    }

    /// Records the facts that only some requests have.
    mutating func noteRequest() {
        switch head.target {
        case .authority(let authority): record.host = authority.description
        case .asterisk: record.target = "*"
        case .origin, .absolute: break
        }
        if fields.contains(.contentType) { call = RPCForm(of: head.headers) }
        if fields.contains(.xRequestId) {
            record.clientRequestID = head.headers[.xRequestId].flatMap(Exchange.identifier)
        }
        if fields.contains(.traceparent) {
            record.traceID = head.headers[.traceparent].flatMap(TraceContext.traceID)
        }
    }

    /// Returns the client's own id for the request if it is an identifier, and not arbitrary text.
    private static func identifier(_ id: String) -> String? {
        guard (1...128).contains(id.utf8.count),
            id.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") })
        else { return nil }
        return id
    }

    /// Assigns the exchange to a channel.
    ///
    /// Records the page that may read the response and the logged fields, before the field section is
    /// edited.
    mutating func enter(_ channel: Channel, by rule: RoutingRule) {
        self.channel = channel
        self.rule = rule
        if fields.contains(.origin) {
            page = channel.rules.access.pages.listedOrigin(of: head.headers)
        }
        rareFields = channel.rareFields(in: head.headers)
        let names = channel.loggedHeaders
        if !names.isEmpty { record.headers = head.headers.filter { names.contains($0.name) } }
    }

    /// Records the authority of a request that is not sent on.
    mutating func noteIntendedHost() {
        guard record.host == nil, case .absolute(let scheme, let authority, _) = head.target else {
            return
        }
        record.scheme = scheme.rawValue
        record.host = authority.description
    }

    /// Records the logged fields of the response, and its status and challenges.
    mutating func noteResponse(_ response: borrowing Response) {
        let status = response.status
        if call != nil || record.context.version == .http2 { noteRPC(response.headers) }
        if status == 401 || status == 403 { noteChallenge(response.headers) }
        guard let channel, channel.logsHeaders else { return }
        let names = channel.loggedHeaders
        let fields = response.headers.filter { names.contains($0.name) }
        let secrets = secrets
        guard !fields.isEmpty, !secrets.isEmpty else {
            record.responseHeaders = fields
            return
        }
        record.responseHeaders = fields.compactMap { field in
            HTTPField(field.name, Redaction.hiding(secrets, in: field.value))
        }
    }

    /// Records the status of a gRPC call from the head or the trailers of its response.
    ///
    /// Never inlined: few exchanges are calls.
    @inline(never)
    mutating func noteRPC(_ fields: HTTPHeaders) {
        if let status = RPCStatus(in: fields) { record.rpcStatus = status }
    }

    /// Wraps the content of the response to a call, so that the client gets a status if it is cut short.
    ///
    /// Never inlined: few exchanges are calls.
    @inline(never)
    func endWithStatus(_ response: inout Response, on app: some DownstreamExchange) {
        // A response of a known length has no room for a status.
        guard case .stream(let source, nil) = response.body,
            let form = RPCForm(of: response.headers),
            form != .native || app.request.takesTrailers
        else { return }
        let body = CallBody(source, in: form) { RPCResponder.ending(after: $0) }
        response.body = .stream(body, length: nil)
    }

    /// Records the error that cut the content of a call's response short.
    mutating func noteCut(of response: borrowing Response, _ shutdown: DownstreamState.Shutdown) {
        guard call != nil, case .stream(let source, _) = response.body,
            let cut = (source as? CallBody)?.cut
        else { return }
        record.rpcStatus = cut.ending.status
        fail(NetworkError(ofExchange: cut.cause), shutdown)
    }

    // Never inlined: few responses are refusals.
    @inline(never)
    private mutating func noteChallenge(_ headers: HTTPHeaders) {
        guard let text = ChallengeSummary.of(headers) else { return }
        challenge = Redaction.hiding(secrets, in: text)
    }

    /// The secrets that an API may repeat, for example in the reason of a 401.
    private var secrets: [Secret] {
        (record.context.sentCredential?.secrets ?? []) + (channel?.rules.secrets ?? [])
    }

    /// Begins a trace if the channel requests one and the client's request has none.
    mutating func beginTrace(in request: inout Request, as rule: ChannelConfiguration.Trace) {
        guard rule != .pass, record.traceID == nil else { return }
        record.traceID = TraceContext.begin(
            in: &request.headers,
            flags: rule == .sampled ? "01" : "00"
        )
    }

    /// Records the destination of the upstream request.
    mutating func noteDestination(of request: borrowing Request, showing target: String) {
        forwarded = request.headers.knownFields
        if channel != nil { noteConfidential(request.headers) }
        record.asked = record.target
        noteDestination(request.origin, target)
    }

    /// Records the fields with credentials that the client's own request has.
    private mutating func noteConfidential(_ headers: HTTPHeaders) {
        guard headers.containsOther(where: HTTPFieldName.mayBeConfidential) else { return }
        confidential = headers.others(where: HTTPFieldName.mayBeConfidential)
            .filter(\.isConfidential)
    }

    /// Records the sender of the request.
    mutating func identify(_ process: PeerProcess?, key: String? = nil) {
        record.identity = ClientIdentity(
            userID: process?.userID,
            processID: process?.processID,
            key: key
        )
    }

    /// Replaces the client's own credential in the recorded target by the marker.
    mutating func hide(_ ownCredential: String) {
        record.target = record.target.replacing(ownCredential, with: PathTemplate.marker)
    }

    private mutating func noteDestination(_ origin: Origin, _ target: String) {
        record.target = target
        record.scheme = origin.scheme.rawValue
        record.host = origin.authority
        record.protocolVersion = "HTTP/1.1"
    }

    /// The status sent to the client; `nil` if it received no head.
    var status: HTTPStatus? {
        get { record.status }
        set { record.status = newValue }
    }

    /// The number of content bytes sent to the client.
    var bytesOut: Int {
        get { record.bytesOut }
        set { record.bytesOut = newValue }
    }

    /// The facts for `netproxy why` that the log line lacks.
    var note: RecentExchanges.Note {
        RecentExchanges.Note(
            channel: channel?.rules,
            rule: rule,
            fields: fields,
            forwarded: forwarded,
            rareFields: rareFields,
            leads: leads,
            challenge: challenge,
            confidential: confidential
        )
    }

    /// The client's names for the upstream's; `nil` without a channel or an upstream.
    var view: DownstreamView? {
        channel.flatMap { channel in
            DownstreamView(
                channel.rules.names,
                answering: record.context.destination?.origin,
                authority: head.host,
                appTarget: head.target.pathAndQuery ?? "",
                upstreamTarget: record.target
            )
        }
    }

    /// The advice to sign in: to the last used identity, if the channel has several.
    var signInAdvice: String? {
        guard let rules = channel?.rules else { return nil }
        let credentials = rules.configuration.credentials
        let identity = record.context.authorization?.identity
        return (credentials.first { $0.identity == identity } ?? credentials.first).map {
            rules.advice($0.signIn)
        }
    }

    /// Whether netproxy ended the exchange with an error.
    var hasFailed: Bool { record.error != nil }

    /// Records the error of a failed exchange, and the side that ended it.
    ///
    /// - Parameters:
    ///   - cause: the error.
    ///   - shutdown: the progress of the connection's shutdown.
    mutating func fail(_ cause: NetworkError, _ shutdown: DownstreamState.Shutdown) {
        if cause.kind == .cancelled {
            guard shutdown != .cut else {
                record.abortedBy = .proxy
                let error = NetworkError.drainEndedInResponse
                return (record.error, record.detail) = (error.kind, error.detail)
            }
            record.abortedBy = .client
            if status == nil { status = 499 }
            return
        }
        (record.error, record.detail) = (cause.kind, cause.detail)
        guard status != nil else { return }
        record.abortedBy =
            switch (cause.kind, cause.side) {
            // In each case netproxy ended the exchange, regardless of the slow side.
            case (.connectionReadTimeout, _), (.connectionWriteTimeout, _),
                (.httpResponseTimeout, _), (_, .proxy):
                .proxy
            case (_, .upstream): .upstream
            case (_, .downstream): .client
            }
    }

    /// Whether one side ended the exchange early.
    var isAborted: Bool { record.abortedBy != nil }

    /// Records the error of a tunnel, whose status the client received at its start.
    mutating func failTunnel(_ cause: NetworkError, _ shutdown: DownstreamState.Shutdown) {
        switch cause.side {
        case _ where shutdown == .cut: record.abortedBy = .proxy
        case .upstream: (record.abortedBy, record.error) = (.upstream, cause.kind)
        case .downstream: record.abortedBy = .client
        case .proxy: (record.abortedBy, record.error) = (.proxy, cause.kind)
        }
        if hasFailed { record.detail = cause.detail }
    }

    /// Completes the record.
    mutating func end(at now: UInt64, bytesIn: Int, by process: PeerProcess?) {
        if process != nil, record.identity == nil { identify(process) }
        if let destination = record.context.destination {
            let target = channel?.rules.shown(destination.target) ?? destination.target
            noteDestination(destination.origin, target)
        }
        if record.context.version == .http2 { record.protocolVersion = "HTTP/2" }
        if let rules = channel?.rules, rules.sendsSecrets || rules.access.key != nil {
            hideSecrets(of: rules)
        }
        record.bytesIn = bytesIn
        record.duration = Duration(elapsed: now &- started)
    }
}

/// Generates the ids of exchanges: 15 characters, which a `String` stores without an allocation.
///
/// An id consists of 40 random bits for the loop of a process and a counter of 35 bits, both in base 32.
///
/// Not `Sendable`.
final class RequestIDs {
    private static let digits = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)
    private var bytes = InlineArray<15, UInt8>(repeating: 0)
    private var counter: UInt64

    /// Starts a sequence that no other loop or process uses.
    init(counter: UInt64 = .random(in: 0..<(1 << 30))) {
        self.counter = counter
        for index in 0..<8 { bytes[index] = RequestIDs.digits[Int.random(in: 0..<32)] }
        for index in 8..<15 {
            bytes[index] = RequestIDs.digits[Int(counter >> (5 * UInt64(14 - index)) & 31)]
        }
    }

    /// Whether an id has the form of netproxy's ids, so that its request may have come back in a circle.
    static func areMade(like id: String) -> Bool {
        id.utf8.count == 15 && id.utf8.allSatisfy(digits.contains)
    }

    /// Returns the next id.
    func next() -> String {
        counter &+= 1
        let digits = RequestIDs.digits
        // Usually only the last digit changes.
        var index = 14
        bytes[index] = digits[Int(counter & 31)]
        var rest = counter
        while rest & 31 == 0, index > 8 {
            rest >>= 5
            index -= 1
            bytes[index] = digits[Int(rest & 31)]
        }
        let text = bytes
        return String(ascii: text.span)
    }
}
