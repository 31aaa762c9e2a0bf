package import NetproxyBytes
import NetproxyHTTPMessage
import NetworkCore

/// Encodes records of one channel as lines of JSON, in one pass and without intermediate strings.
///
/// Each event loop has its own. The channel's labels and the current second are kept encoded; copies
/// of an encoder share the latter.
package struct LineEncoder {
    let labels: LogLabels
    let redaction: Redaction
    private let query: QueryText
    private let timestamps = TimestampCache()
    /// The part of a line between the level and the event.
    private let afterLevel: [UInt8]

    /// Creates the encoder of a channel.
    package init(labels: LogLabels) {
        self.labels = labels
        var redaction = Redaction.standard
        redaction.fields.formUnion(labels.credentialFields)
        if let parameter = labels.credentialParameter { redaction.parameters.insert(parameter) }
        self.redaction = redaction
        query = QueryText(mode: labels.query, redaction: redaction)
        let output = OutputBuffer()
        output.append("\"")
        for (key, value) in [
            ("subsystem", labels.subsystem), ("category", labels.category),
            ("channel", labels.channel),
        ] {
            guard let value else { continue }
            output.append(",\"")
            output.append(key)
            output.append("\":\"")
            output.append(escaped: value)
            output.append("\"")
        }
        output.append(",\"event\":\"")
        afterLevel = output.span.array
    }

    /// Appends the line of an exchange, including the newline.
    package func encode(_ record: ExchangeRecord, to output: OutputBuffer) {
        begin(record.time, record.level, "exchange", output)
        plain(",\"request_id\":\"", record.context.requestID, output)
        text(",\"client_request_id\":\"", record.clientRequestID, output)
        plain(",\"trace_id\":\"", record.traceID, output)
        plain(",\"client\":\"", record.client, output)
        if let identity = record.identity { encode(identity, output) }
        // Empty if no request could be parsed.
        if !record.method.isEmpty { plain(",\"method\":\"", record.method, output) }
        plain(",\"scheme\":\"", record.scheme, output)
        plain(",\"host\":\"", record.host, output)
        encodeTarget(record.target, output)
        if let asked = record.asked { encodeAsked(asked, insteadOf: record.target, output) }
        plain(",\"protocol\":\"", record.protocolVersion, output)
        number(",\"status\":", record.status?.rawValue, output)
        number(",\"upstream_status\":", record.context.upstreamStatus?.rawValue, output)
        number(",\"grpc_status\":", record.rpcStatus?.rawValue, output)
        number(",\"bytes_in\":", record.bytesIn, output)
        number(",\"bytes_out\":", record.bytesOut, output)
        output.append(",\"duration_ms\":")
        output.append(milliseconds: record.duration)
        encode(record.context.timings, output)
        if let upstream = record.context.upstreamAddress {
            plain(",\"upstream\":\"", upstream, output)
            let isReused = record.context.isConnectionReused
            output.append(isReused ? ",\"reused\":true" : ",\"reused\":false")
        }
        number(",\"attempts\":", record.context.attempts, output)
        encode(record.context.retries, output)
        encode(record.context.authorization, output)
        plain(",\"error\":\"", record.error?.rawValue, output)
        text(",\"detail\":\"", record.detail, output)
        plain(",\"aborted_by\":\"", record.abortedBy?.rawValue, output)
        encode(",\"headers\":{", record.headers, output)
        encode(",\"response_headers\":{", record.responseHeaders, output)
        output.append("}\n")
    }

    private func encode(_ identity: ClientIdentity, _ output: OutputBuffer) {
        number(",\"client_uid\":", identity.userID.map(Int.init), output)
        number(",\"client_pid\":", identity.processID.map(Int.init), output)
        plain(",\"client_key\":\"", identity.key, output)
    }

    /// Appends path and query, unless the request was CONNECT.
    @inline(__always)
    private func encodeTarget(_ text: String, _ output: OutputBuffer) {
        let target = text.utf8.span
        guard !target.isEmpty else { return }
        let mark = target.firstIndex(of: UInt8(ascii: "?"), from: 0) ?? target.count
        output.append(",\"path\":\"")
        output.append(escaped: target.extracting(0..<mark))
        output.append("\"")
        if labels.query != .off, mark < target.count {
            output.append(",\"query\":\"")
            query.append(target.extracting((mark + 1)..<target.count), to: output)
            output.append("\"")
        }
    }

    /// Appends the path that the app asked for, unless it is the upstream's.
    @inline(__always)
    private func encodeAsked(
        _ text: String,
        insteadOf target: String,
        _ output: OutputBuffer
    ) {
        let (asked, sent) = (text.utf8.span, target.utf8.span)
        let mark = UInt8(ascii: "?")
        let length = asked.firstIndex(of: mark, from: 0) ?? asked.count
        var index = 0
        if length == sent.firstIndex(of: mark, from: 0) ?? sent.count {
            while index < length, asked[index] == sent[index] { index += 1 }
        }
        guard index < length else { return }
        output.append(",\"target\":\"")
        output.append(escaped: asked.extracting(0..<length))
        output.append("\"")
    }

    /// Appends the line of any other event, including the newline.
    package func encode(_ record: EventRecord, to output: OutputBuffer) {
        begin(record.time, record.level, record.event.rawValue, output)
        text(",\"message\":\"", record.message, output)
        for (name, value) in record.facts {
            output.append(",\"")
            output.append(escaped: name)
            output.append("\":")
            switch value {
            case .text(let value):
                output.append("\"")
                output.append(escaped: value)
                output.append("\"")
            case .number(let value): output.append(decimal: value)
            case .flag(let value): output.append(value ? "true" : "false")
            case .duration(let value): output.append(milliseconds: value)
            }
        }
        output.append("}\n")
    }

    private func begin(
        _ time: WallTime,
        _ level: LogLevel,
        _ event: String,
        _ output: OutputBuffer
    ) {
        output.append("{\"time\":\"")
        timestamps.append(time, to: output)
        output.append("\",\"level\":\"")
        output.append(level.rawValue)
        output.append(afterLevel)
        output.append(event)
        output.append("\"")
    }
}
