/// A key of log lines.
///
/// Each key is declared once, as the bytes with which its member begins, so that the encoder writes them in
/// one piece. The formats, `tail` and `--where` use the key's name.
package struct LogKey: Sendable {
    /// Whether `--where` compares the values as numbers.
    enum Kind: Sendable {
        case number, other
    }

    /// The beginning of the member: the comma before it unless another member may be first in the object, the
    /// name, and the first byte of a text, a list or an object; the whole member for a true flag.
    let opening: StaticString
    /// The whole member for a false flag.
    let negation: StaticString
    let kind: Kind
    /// The name of the object that contains the member; `nil` for a member of the line.
    private let object: StaticString?

    @inline(__always)
    private init(
        _ opening: StaticString,
        ifNot negation: StaticString = "",
        in object: StaticString? = nil,
        _ kind: Kind = .other
    ) {
        (self.opening, self.negation, self.object, self.kind) = (opening, negation, object, kind)
    }

    /// The name of the key; a dot separates the levels of nested objects.
    package var name: String {
        let bytes = opening.description.split(separator: "\"", maxSplits: 2)
        let member = String(bytes[opening.description.first == "\"" ? 0 : 1])
        return object.map { "\($0).\(member)" } ?? member
    }
}

/// The keys in the order of a line.
extension LogKey {
    package static let time = LogKey(#"{"time":""#)
    package static let level = LogKey(#","level":""#)
    package static let subsystem = LogKey(#","subsystem":""#)
    package static let category = LogKey(#","category":""#)
    package static let channel = LogKey(#","channel":""#)
    package static let event = LogKey(#","event":""#)
    package static let requestID = LogKey(#","request_id":""#)
    package static let clientRequestID = LogKey(#","client_request_id":""#)
    package static let traceID = LogKey(#","trace_id":""#)
    package static let client = LogKey(#","client":""#)
    package static let clientUID = LogKey(#","client_uid":"#, .number)
    package static let clientPID = LogKey(#","client_pid":"#, .number)
    package static let clientKey = LogKey(#","client_key":""#)
    package static let method = LogKey(#","method":""#)
    package static let scheme = LogKey(#","scheme":""#)
    package static let host = LogKey(#","host":""#)
    package static let path = LogKey(#","path":""#)
    package static let query = LogKey(#","query":""#)
    package static let target = LogKey(#","target":""#)
    package static let protocolVersion = LogKey(#","protocol":""#)
    package static let status = LogKey(#","status":"#, .number)
    package static let upstreamStatus = LogKey(#","upstream_status":"#, .number)
    package static let rpcStatus = LogKey(#","grpc_status":"#, .number)
    package static let bytesIn = LogKey(#","bytes_in":"#, .number)
    package static let bytesOut = LogKey(#","bytes_out":"#, .number)
    package static let duration = LogKey(#","duration_ms":"#, .number)
    package static let timings = LogKey(#","timings":{"#)
    package static let queueTime = LogKey(#""queue_ms":"#, in: "timings", .number)
    package static let dnsTime = LogKey(#""dns_ms":"#, in: "timings", .number)
    package static let connectTime = LogKey(#""connect_ms":"#, in: "timings", .number)
    package static let tlsTime = LogKey(#""tls_ms":"#, in: "timings", .number)
    package static let firstByteTime = LogKey(#""first_byte_ms":"#, in: "timings", .number)
    package static let upstream = LogKey(#","upstream":""#)
    package static let reused = LogKey(#","reused":true"#, ifNot: #","reused":false"#)
    package static let attempts = LogKey(#","attempts":"#, .number)
    package static let retries = LogKey(#","retries":["#)
    package static let auth = LogKey(#","auth":{"#)
    package static let authKind = LogKey(#""kind":""#, in: "auth")
    package static let authIdentity = LogKey(#","identity":""#, in: "auth")
    package static let authGeneration = LogKey(#","generation":"#, in: "auth", .number)
    package static let authAge = LogKey(#","age_s":"#, in: "auth", .number)
    package static let authRefreshed = LogKey(
        #","refreshed":true"#,
        ifNot: #","refreshed":false"#,
        in: "auth"
    )
    package static let authWait = LogKey(#","wait_ms":"#, in: "auth", .number)
    package static let authOverrodeClient = LogKey(#","overrode_client":true"#, in: "auth")
    package static let authNotReplayed = LogKey(#","not_replayed":""#, in: "auth")
    package static let error = LogKey(#","error":""#)
    package static let detail = LogKey(#","detail":""#)
    package static let abortedBy = LogKey(#","aborted_by":""#)
    package static let headers = LogKey(#","headers":{"#)
    package static let responseHeaders = LogKey(#","response_headers":{"#)

    // Keys of events other than exchanges.
    package static let message = LogKey(#","message":""#)
    package static let reason = LogKey(#","reason":""#)
    package static let kind = LogKey(#","kind":""#)
    package static let identity = LogKey(#","identity":""#)
    package static let fields = LogKey(#","fields":""#)
    package static let action = LogKey(#","action":""#)
    package static let generation = LogKey(#","generation":"#, .number)
    package static let nextAttempt = LogKey(#","next_attempt_s":"#, .number)
    package static let dropped = LogKey(#","dropped":"#, .number)

    /// All keys, except for the header fields listed in `log.headers`.
    private static let all: [LogKey] = [
        .time, .level, .subsystem, .category, .channel, .event, .requestID, .clientRequestID,
        .traceID, .client, .clientUID, .clientPID, .clientKey, .method, .scheme, .host, .path,
        .query, .target, .protocolVersion, .status, .upstreamStatus, .rpcStatus, .bytesIn,
        .bytesOut, .duration, .timings, .queueTime, .dnsTime, .connectTime, .tlsTime,
        .firstByteTime, .upstream, .reused, .attempts, .retries, .auth, .authKind, .authIdentity,
        .authGeneration, .authAge, .authRefreshed, .authWait, .authOverrodeClient,
        .authNotReplayed, .error, .detail, .abortedBy, .headers, .responseHeaders, .message,
        .reason, .kind, .identity, .fields, .action, .generation, .nextAttempt, .dropped,
    ]

    private static let kinds = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0.kind) })

    /// The names of all keys, in alphabetical order.
    static let names = kinds.keys.sorted()

    /// Whether a line may contain the key.
    package static func exists(_ name: String) -> Bool {
        kinds[name] != nil
            || [LogKey.headers, .responseHeaders].contains { name.hasPrefix("\($0.name).") }
    }

    /// Whether the values of the key are numbers.
    static func isNumber(_ name: String) -> Bool { kinds[name] == .number }
}
