import EventIO
import HTTP1
import HTTPMessage
import NetworkCore
import RequestLog

/// What is known of an exchange until its record is written.
struct Exchange {
    var context: RequestContext
    var channel: Channel?
    var rule: RoutingRule?
    /// What the upstream was asked for, and where it is.
    private var upstreamTarget: String?
    private var origin: Origin?
    var status: HTTPStatus?
    var bytesIn = 0
    var bytesOut = 0
    /// The known fields of the app's request.
    let fields: KnownFieldSet
    /// Which of the channel's rare fields it had.
    private(set) var rareFields: UInt64 = 0
    private let method: String
    private let target: RequestTarget?
    private var traceID: String?
    private var loggedFields: [HTTPField] = []
    private let app: DownstreamConnection
    private let client: String
    private let userID: UInt32?
    private let started: UInt64
    private let time: WallTime
    private var error: ErrorKind?
    /// What a person should know of the error.
    private(set) var errorDetail: String?
    private var abortedBy: AbortedBy?
    private var responseHeaders: HTTPHeaders?

    init(_ head: RequestHead?, on app: DownstreamConnection, id: String, now: UInt64) {
        method = head?.method.rawValue ?? ""
        target = head?.target
        fields = head?.headers.knownFields ?? []
        if fields.contains(.traceparent) {
            traceID = head?.headers[.traceparent].flatMap(TraceContext.traceID)
        }
        self.app = app
        client = app.client
        userID = app.userID
        started = now
        time = .now
        context = RequestContext(requestID: id)
    }

    /// Takes over what the record says of the request, before its field section is edited.
    mutating func take(_ head: RequestHead, for channel: Channel) {
        self.channel = channel
        rareFields = channel.rareFields(in: head.headers)
        let names = channel.loggedHeaders
        if !names.isEmpty { loggedFields = head.headers.filter { names.contains($0.name) } }
    }

    /// Takes over where the request goes.
    mutating func take(_ request: borrowing Request) {
        upstreamTarget = request.target
        origin = request.origin
    }

    /// Whether netproxy itself had to end it with an error.
    var hasFailed: Bool { error != nil }

    /// Records why it failed, and who gave up.
    mutating func fail(_ cause: any Error) {
        guard let cause = cause as? NetworkError else {
            error = .proxyInternalError
            return
        }
        errorDetail = cause.detail
        if cause.kind == .cancelled {
            abortedBy = app.isCut ? .proxy : .client
            if !app.isCut { status = 499 }
            return
        }
        error = cause.kind
        guard status != nil else { return }
        switch cause.side {
        case .upstream: abortedBy = .upstream
        case .downstream: abortedBy = .client
        case .proxy: abortedBy = .proxy
        }
    }

    /// Whether somebody ended it early.
    var isAborted: Bool { abortedBy != nil }

    /// Records why a tunnel ended, whose status the app has long got.
    mutating func failTunnel(_ cause: NetworkError) {
        switch cause.side {
        case _ where app.isCut: abortedBy = .proxy
        case .upstream: (abortedBy, error) = (.upstream, cause.kind)
        case .downstream: abortedBy = .client
        case .proxy: (abortedBy, error) = (.proxy, cause.kind)
        }
    }

    /// The record, of the upstream request where there is one.
    func record(endedAt now: UInt64) -> ExchangeRecord {
        var record = ExchangeRecord(
            time: time,
            requestID: context.requestID,
            client: client,
            method: method,
            target: context.destination?.target ?? upstreamTarget ?? target?.pathAndQuery ?? ""
        )
        record.clientUID = userID
        if let origin = context.destination?.origin ?? origin {
            record.scheme = origin.scheme.rawValue
            record.host = origin.authority
            record.protocolVersion = "HTTP/1.1"
        } else if case .authority(let authority)? = target {
            record.host = authority.description
        }
        record.status = status
        record.bytesIn = bytesIn
        record.bytesOut = bytesOut
        record.duration = Duration(elapsed: now &- started)
        record.error = error
        record.abortedBy = abortedBy
        record.take(context)
        record.traceID = traceID
        record.headers = loggedFields
        return record
    }
}

/// W3C Trace Context, as far as the log needs it.
enum TraceContext {
    /// The trace id of a `traceparent` value, if it is well-formed.
    static func traceID(_ value: String) -> String? {
        let parts = value.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count >= 4, parts[1].utf8.count == 32,
            parts[1].utf8.allSatisfy({ Grammar.hexValue($0) != nil })
        else { return nil }
        return String(parts[1])
    }
}
