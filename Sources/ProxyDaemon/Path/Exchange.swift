import EventIO
import HTTP1
import HTTPMessage
import NetworkCore
import ProxyConfig
import RequestLog

/// What is known of an exchange until its record is written.
struct Exchange: ~Copyable {
    /// The head of the app's request; its field section is gone once the request is made.
    var head: RequestHead
    var channel: Channel?
    var rule: RoutingRule?
    /// The channel that the listener has for itself.
    var dedicated: String?
    /// What the log will say; `end(at:)` completes it.
    var record: ExchangeRecord
    /// The known fields of the app's request.
    let fields: KnownFieldSet
    /// Those of the request that was made of it, before the channel's rules; none if none was made.
    private(set) var forwarded = KnownFieldSet.none
    /// Which of the channel's rare fields it had.
    private(set) var rareFields: UInt64 = 0
    private let app: DownstreamConnection
    private let started: UInt64

    /// Begins with a head; where it only stands for one, the record has no method and no target.
    ///
    /// Nothing is changed here once it has its value: that would have all of it copied.
    init(
        of head: consuming RequestHead,
        on app: DownstreamConnection,
        id: String,
        isKnown: Bool = true
    ) {
        let target = isKnown ? head.target.pathAndQuery ?? "" : ""
        record = ExchangeRecord(
            time: WallTime(nanosecondsSince1970: app.loop.wallNow),
            requestID: id,
            client: app.client,
            method: isKnown ? head.method.rawValue : "",
            target: target
        )
        fields = head.headers.knownFields
        self.app = app
        started = app.loop.now
        self.head = head
    }

    /// Notes what only some requests have.
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

    /// An id of the app's, if it can stand in the log: an identifier, not just any text.
    private static func identifier(_ id: String) -> String? {
        guard (1...128).contains(id.utf8.count),
            id.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") })
        else { return nil }
        return id
    }

    /// Goes over to a channel, with the fields that it wants logged, before the section is edited.
    mutating func enter(_ channel: Channel) {
        self.channel = channel
        rareFields = channel.rareFields(in: head.headers)
        let names = channel.loggedHeaders
        if !names.isEmpty { record.headers = head.headers.filter { names.contains($0.name) } }
    }

    /// Notes where the app wanted to go, of a request that goes nowhere.
    mutating func noteWish() {
        guard record.host == nil, case .absolute(let scheme, let authority, _) = head.target else {
            return
        }
        record.scheme = scheme.rawValue
        record.host = authority.description
    }

    /// Notes the fields of the response that the channel wants logged.
    mutating func noteResponse(_ response: borrowing Response) {
        guard let channel, channel.logsHeaders else { return }
        let names = channel.loggedHeaders
        let fields = response.headers.filter { names.contains($0.name) }
        // An API may repeat what it was sent, in the reason of a 401 for one.
        let secrets = (record.context.sentCredential?.secrets ?? []) + channel.shared.secrets
        guard !fields.isEmpty, !secrets.isEmpty else {
            record.responseHeaders = fields
            return
        }
        record.responseHeaders = fields.compactMap { field in
            HTTPField(field.name, Redaction.hiding(secrets, in: field.value))
        }
    }

    /// Begins a trace, if the app's request belongs to none and the channel wants one.
    mutating func beginTrace(in request: inout Request, as rule: ChannelConfiguration.Trace) {
        guard rule != .pass, record.traceID == nil else { return }
        record.traceID = TraceContext.begin(in: &request.headers, isSampled: rule == .sampled)
    }

    /// Notes where the request goes, and what it was made of.
    mutating func noteDestination(of request: borrowing Request) {
        forwarded = request.headers.knownFields
        noteDestination(request.origin, request.target)
    }

    private mutating func noteDestination(_ origin: Origin, _ target: String) {
        record.target = target
        record.scheme = origin.scheme.rawValue
        record.host = origin.authority
        record.protocolVersion = "HTTP/1.1"
    }

    /// What the app got; nothing if no head reached it.
    var status: HTTPStatus? {
        get { record.status }
        set { record.status = newValue }
    }

    /// Content bytes to the app.
    var bytesOut: Int {
        get { record.bytesOut }
        set { record.bytesOut = newValue }
    }

    /// Whether netproxy itself had to end it with an error.
    var hasFailed: Bool { record.error != nil }

    /// Records why it failed, and who gave up.
    mutating func fail(_ cause: any Error) {
        let cause = ProxyHandler.networkError(cause)
        if cause.kind == .cancelled {
            if app.ending == .cut { return failCut() }
            record.abortedBy = .client
            if status == nil { status = 499 }
            return
        }
        (record.error, record.detail) = (cause.kind, cause.detail)
        guard status != nil else { return }
        record.abortedBy =
            switch (cause.kind, cause.side) {
            // Whoever was slow, it is netproxy that gave up.
            case (.connectionReadTimeout, _), (.connectionWriteTimeout, _),
                (.httpResponseTimeout, _), (_, .proxy):
                .proxy
            case (_, .upstream): .upstream
            case (_, .downstream): .client
            }
    }

    /// Records that the time of the drain was over in the middle of it.
    private mutating func failCut() {
        record.abortedBy = .proxy
        (record.error, record.detail) = (
            ProxyHandler.cutShort.kind, "\(ProxyHandler.cutShort.detail) was complete"
        )
    }

    /// Whether somebody ended it early.
    var isAborted: Bool { record.abortedBy != nil }

    /// Records why a tunnel ended, whose status the app has long got.
    mutating func failTunnel(_ cause: NetworkError) {
        switch cause.side {
        case _ where app.ending == .cut: record.abortedBy = .proxy
        case .upstream: (record.abortedBy, record.error) = (.upstream, cause.kind)
        case .downstream: record.abortedBy = .client
        case .proxy: (record.abortedBy, record.error) = (.proxy, cause.kind)
        }
        if hasFailed { record.detail = cause.detail }
    }

    /// Completes the record.
    mutating func end(at now: UInt64) {
        if let destination = record.context.destination {
            noteDestination(destination.origin, destination.target)
        }
        record.clientUID = app.userID
        record.bytesIn = app.current.bytesIn
        record.duration = Duration(elapsed: now &- started)
    }
}
