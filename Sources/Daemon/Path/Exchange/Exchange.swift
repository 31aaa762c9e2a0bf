import NetproxyBytes
import NetproxyConfig
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyRequestLog
import NetworkCore
import OAuth

/// One request and what is known of its response, until the record is written.
package struct Exchange: ~Copyable {
    /// The head of the app's request; its field section is gone once the request is made.
    var head: RequestHead
    private(set) var channel: Channel?
    private(set) var rule: RoutingRule?
    /// The listener's own channel, if it has one.
    let dedicated: String?
    /// What the app takes netproxy for.
    let role: PerceivedRole
    /// Whether it is a call of gRPC, whose errors are told in its own way.
    var isRPC = false
    /// The origin of the listed web page that sent the request: it may read the answer.
    var page: String?
    /// What the log will say; `end` completes it.
    var record: ExchangeRecord
    /// The known fields of the app's request.
    let fields: KnownFieldSet
    /// The known fields of the upstream request, before the channel's rules; empty if none was made.
    private(set) var forwarded = KnownFieldSet.none
    /// Which of the fields that only the channel's rules name the request had.
    private(set) var rareFields: UInt64 = 0
    /// Which fields of the response led past netproxy.
    var leads = LeadsAway()
    /// What the challenges of the response say.
    private var challenge: String?
    private let started: UInt64

    /// Begins with a head.
    ///
    /// No property is changed here once it has its value: that would copy all of the exchange.
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

    /// Notes that the head only stands for one that could not be read.
    mutating func noteUnreadable() {
        record.method = ""
        record.target = ""
    }

    /// Notes the facts that only some requests have.
    mutating func noteRequest() {
        switch head.target {
        case .authority(let authority): record.host = authority.description
        case .asterisk: record.target = "*"
        case .origin, .absolute: break
        }
        if fields.contains(.xRequestId) {
            record.clientRequestID = head.headers[.xRequestId].flatMap(Exchange.identifier)
        }
        if fields.contains(.traceparent) {
            record.traceID = head.headers[.traceparent].flatMap(TraceContext.traceID)
        }
    }

    /// The app's own id for the request, if it is fit for the log: an identifier, not just any text.
    private static func identifier(_ id: String) -> String? {
        guard (1...128).contains(id.utf8.count),
            id.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") })
        else { return nil }
        return id
    }

    /// Assigns the exchange to a channel, and notes the page that may read its response, and the fields
    /// that the channel wants logged, before the section is edited.
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

    /// Notes the authority that a request named, where it is not sent on.
    mutating func noteIntendedHost() {
        guard record.host == nil, case .absolute(let scheme, let authority, _) = head.target else {
            return
        }
        record.scheme = scheme.rawValue
        record.host = authority.description
    }

    /// Notes the fields of the response that the channel wants logged.
    mutating func noteResponse(_ response: borrowing Response) {
        let status = response.status
        if isRPC || record.context.version == .http2 { noteRPC(response.headers) }
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

    /// Notes the status of a call, which is in the head or in the trailers of its answer.
    // Never inlined: few exchanges are calls.
    @inline(never)
    mutating func noteRPC(_ fields: HTTPHeaders) {
        if let status = RPCStatus(in: fields) { record.rpcStatus = status }
    }

    // Never inlined: few responses are refusals.
    @inline(never)
    private mutating func noteChallenge(_ headers: HTTPHeaders) {
        guard let text = ChallengeSummary.of(headers) else { return }
        challenge = Redaction.hiding(secrets, in: text)
    }

    /// What an API may repeat of what it was sent, for example in the reason of a 401.
    private var secrets: [Secret] {
        (record.context.sentCredential?.secrets ?? []) + (channel?.rules.secrets ?? [])
    }

    /// Begins a trace if the app's request belongs to none and the channel wants one.
    mutating func beginTrace(in request: inout Request, as rule: ChannelConfiguration.Trace) {
        guard rule != .pass, record.traceID == nil else { return }
        record.traceID = TraceContext.begin(
            in: &request.headers,
            flags: rule == .sampled ? "01" : "00"
        )
    }

    /// Notes where the request goes, and what it was made of.
    mutating func noteDestination(of request: borrowing Request, showing target: String) {
        forwarded = request.headers.knownFields
        record.asked = record.target
        noteDestination(request.origin, target)
    }

    /// Notes who sent the request.
    mutating func identify(_ process: PeerProcess?, key: String? = nil) {
        record.identity = ClientIdentity(
            userID: process?.userID,
            processID: process?.processID,
            key: key
        )
    }

    /// Shows a target without what the app has put in the place of the credential.
    mutating func hide(_ ownCredential: String) {
        record.target = record.target.replacing(ownCredential, with: PathTemplate.marker)
    }

    private mutating func noteDestination(_ origin: Origin, _ target: String) {
        record.target = target
        record.scheme = origin.scheme.rawValue
        record.host = origin.authority
        record.protocolVersion = "HTTP/1.1"
    }

    /// What the app got; `nil` if no head reached it.
    var status: HTTPStatus? {
        get { record.status }
        set { record.status = newValue }
    }

    /// Content bytes to the app.
    var bytesOut: Int {
        get { record.bytesOut }
        set { record.bytesOut = newValue }
    }

    /// What `netproxy why` needs beside the line of the log.
    var note: RecentExchanges.Note {
        RecentExchanges.Note(
            channel: channel?.rules,
            rule: rule,
            fields: fields,
            forwarded: forwarded,
            rareFields: rareFields,
            leads: leads,
            challenge: challenge
        )
    }

    /// How the app names what the upstream names otherwise; `nil` without a channel or an upstream.
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

    /// What to do where a person must sign in: to the identity that was asked for last, if it has several.
    var signInAdvice: String? {
        guard let rules = channel?.rules else { return nil }
        let credentials = rules.configuration.credentials
        let identity = record.context.authorization?.identity
        return (credentials.first { $0.identity == identity } ?? credentials.first).map {
            rules.advice($0.signIn)
        }
    }

    /// Whether netproxy ended it with an error.
    var hasFailed: Bool { record.error != nil }

    /// Records why it failed, and which side gave up.
    ///
    /// - Parameters:
    ///   - cause: the fault.
    ///   - shutdown: whether the connection had to end.
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
            // Whichever side was slow, it is netproxy that gave up.
            case (.connectionReadTimeout, _), (.connectionWriteTimeout, _),
                (.httpResponseTimeout, _), (_, .proxy):
                .proxy
            case (_, .upstream): .upstream
            case (_, .downstream): .client
            }
    }

    /// Whether one side ended it early.
    var isAborted: Bool { record.abortedBy != nil }

    /// Records why a tunnel ended, whose status the app got long ago.
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
        record.bytesIn = bytesIn
        record.duration = Duration(elapsed: now &- started)
    }
}

/// Makes the ids of exchanges: 15 characters, which a `String` holds without an allocation.
///
/// 40 random bits for the loop of a process, and a counter of 35 bits, both in base 32.
///
/// Not `Sendable`.
final class RequestIDs {
    private static let digits = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)
    private var bytes = InlineArray<15, UInt8>(repeating: 0)
    private var counter: UInt64

    /// Starts a sequence that no other loop or process has.
    init(counter: UInt64 = .random(in: 0..<(1 << 30))) {
        self.counter = counter
        for index in 0..<8 { bytes[index] = RequestIDs.digits[Int.random(in: 0..<32)] }
        for index in 8..<15 {
            bytes[index] = RequestIDs.digits[Int(counter >> (5 * UInt64(14 - index)) & 31)]
        }
    }

    /// Whether a netproxy has made the id: its request may come back in a circle.
    static func areMade(like id: String) -> Bool {
        id.utf8.count == 15 && id.utf8.allSatisfy(digits.contains)
    }

    /// The next id.
    func next() -> String {
        counter &+= 1
        let digits = RequestIDs.digits
        // Mostly the last digit only.
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
