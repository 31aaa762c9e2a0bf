package import NetproxyBytes
import NetproxyHTTPMessage
import NetworkCore

/// Encodes the records of one channel as lines of JSON, in one pass and without intermediate strings.
///
/// Each event loop has its own encoder. An encoder caches the encoded labels and the encoded second; copies
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
            (.subsystem, labels.subsystem), (.category, labels.category),
            (.channel, labels.channel),
        ] as [(LogKey, String?)] {
            guard let value else { continue }
            output.append(key.opening)
            output.append(escaped: value)
            output.append("\"")
        }
        output.append(LogKey.event.opening)
        afterLevel = output.span.array
    }

    /// Appends the line of an exchange, including the newline.
    package func encode(_ record: ExchangeRecord, to output: OutputBuffer) {
        begin(record.time, record.level, "exchange", output)
        plain(.requestID, record.context.requestID, output)
        text(.clientRequestID, record.clientRequestID, output)
        plain(.traceID, record.traceID, output)
        plain(.client, record.client, output)
        if let identity = record.identity { encode(identity, output) }
        // Empty if the request could not be parsed.
        if !record.method.isEmpty { plain(.method, record.method, output) }
        plain(.scheme, record.scheme, output)
        plain(.host, record.host, output)
        encodeTarget(record.target, output)
        if let asked = record.asked { encodeAsked(asked, insteadOf: record.target, output) }
        plain(.protocolVersion, record.protocolVersion, output)
        number(.status, record.status?.rawValue, output)
        number(.upstreamStatus, record.context.upstreamStatus?.rawValue, output)
        number(.rpcStatus, record.rpcStatus?.rawValue, output)
        number(.bytesIn, record.bytesIn, output)
        number(.bytesOut, record.bytesOut, output)
        output.append(LogKey.duration.opening)
        output.append(milliseconds: record.duration)
        encode(record.context.timings, output)
        if let upstream = record.context.upstreamAddress {
            plain(.upstream, upstream, output)
            let isReused = record.context.isConnectionReused
            output.append(isReused ? LogKey.reused.opening : LogKey.reused.negation)
        }
        number(.attempts, record.context.attempts, output)
        encode(record.context.retries, output)
        encode(record.context.authorization, output)
        plain(.error, record.error?.rawValue, output)
        text(.detail, record.detail, output)
        plain(.abortedBy, record.abortedBy?.rawValue, output)
        encode(.headers, record.headers, output)
        encode(.responseHeaders, record.responseHeaders, output)
        output.append("}\n")
    }

    private func encode(_ identity: ClientIdentity, _ output: OutputBuffer) {
        number(.clientUID, identity.userID.map(Int.init), output)
        number(.clientPID, identity.processID.map(Int.init), output)
        plain(.clientKey, identity.key, output)
    }

    /// Appends path and query, except for a CONNECT request.
    @inline(__always)
    private func encodeTarget(_ text: String, _ output: OutputBuffer) {
        let target = text.utf8.span
        guard !target.isEmpty else { return }
        let mark = target.firstIndex(of: UInt8(ascii: "?"), from: 0) ?? target.count
        output.append(LogKey.path.opening)
        output.append(escaped: target.extracting(0..<mark))
        output.append("\"")
        if labels.query != .off, mark < target.count {
            output.append(LogKey.query.opening)
            query.append(target.extracting((mark + 1)..<target.count), to: output)
            output.append("\"")
        }
    }

    /// Appends the path in the client's request, unless it equals the upstream's.
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
        output.append(LogKey.target.opening)
        output.append(escaped: asked.extracting(0..<length))
        output.append("\"")
    }

    /// Appends the line of any other event, including the newline.
    package func encode(_ record: EventRecord, to output: OutputBuffer) {
        begin(record.time, record.level, record.event.rawValue, output)
        text(.message, record.message, output)
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
        output.append(LogKey.time.opening)
        timestamps.append(time, to: output)
        output.append(UInt8(ascii: "\""))
        output.append(LogKey.level.opening)
        output.append(level.rawValue)
        output.append(afterLevel)
        output.append(event)
        output.append("\"")
    }
}
