import NetproxyBytes
import NetproxyHTTPMessage
import NetworkCore

extension LineEncoder {
    @inline(__always)
    func text(_ key: LogKey, _ value: String?, _ output: OutputBuffer) {
        guard let value else { return }
        output.append(key.opening)
        output.append(escaped: value)
        output.append(UInt8(ascii: "\""))
    }

    /// Appends a text that needs no escapes: a constant, an address, or a text validated by a grammar.
    @inline(__always)
    func plain(_ key: LogKey, _ value: String?, _ output: OutputBuffer) {
        guard let value else { return }
        output.append(key.opening)
        output.append(value)
        output.append(UInt8(ascii: "\""))
    }

    @inline(__always)
    func number(_ key: LogKey, _ value: Int?, _ output: OutputBuffer) {
        guard let value else { return }
        output.append(key.opening)
        output.append(decimal: value)
    }

    func encode(_ timings: Timings, _ output: OutputBuffer) {
        var opening = LogKey.timings.opening
        phase(.queueTime, timings.queue, &opening, output)
        phase(.dnsTime, timings.dns, &opening, output)
        phase(.connectTime, timings.connect, &opening, output)
        phase(.tlsTime, timings.tls, &opening, output)
        phase(.firstByteTime, timings.firstByte, &opening, output)
        if opening.utf8CodeUnitCount == 1 { output.append(UInt8(ascii: "}")) }
    }

    @inline(__always)
    private func phase(
        _ key: LogKey,
        _ duration: Duration?,
        _ opening: inout StaticString,
        _ output: OutputBuffer
    ) {
        guard let duration else { return }
        output.append(opening)
        output.append(key.opening)
        output.append(milliseconds: duration)
        opening = ","
    }

    func encode(_ retries: [RetryReason], _ output: OutputBuffer) {
        guard !retries.isEmpty else { return }
        output.append(LogKey.retries.opening)
        for (index, reason) in retries.enumerated() {
            output.append(index == 0 ? "\"" : ",\"")
            output.append(reason.description)
            output.append(UInt8(ascii: "\""))
        }
        output.append(UInt8(ascii: "]"))
    }

    func encode(_ facts: AuthorizationFacts?, _ output: OutputBuffer) {
        guard let facts else { return }
        output.append(LogKey.auth.opening)
        plain(.authKind, facts.kind, output)
        plain(.authIdentity, facts.identity, output)
        number(.authGeneration, facts.generation, output)
        number(.authAge, facts.age.map { Int($0.components.seconds) }, output)
        let refreshed = LogKey.authRefreshed
        output.append(facts.isRefreshed ? refreshed.opening : refreshed.negation)
        if let wait = facts.wait {
            output.append(LogKey.authWait.opening)
            output.append(milliseconds: wait)
        }
        if facts.overrodeClient { output.append(LogKey.authOverrodeClient.opening) }
        plain(.authNotReplayed, facts.notReplayed?.rawValue, output)
        output.append(UInt8(ascii: "}"))
    }

    /// Appends the fields listed in `log.headers`, with lowercase names.
    ///
    /// Field lines of the same name are joined (RFC 9110 §5.3).
    func encode(_ key: LogKey, _ fields: [HTTPField], _ output: OutputBuffer) {
        guard !fields.isEmpty else { return }
        var opening = key.opening
        for (index, field) in fields.enumerated() {
            guard shows(field.name), !fields[..<index].contains(where: { $0.name == field.name })
            else { continue }
            output.append(opening)
            opening = ","
            output.append(UInt8(ascii: "\""))
            for byte in field.name.text.utf8 { output.append(Grammar.lowercased(byte)) }
            output.append("\":\"")
            if hides(field.name) {
                output.append(Redaction.mark)
            } else {
                output.append(escaped: redaction.value(of: field))
                for other in fields[(index + 1)...] where other.name == field.name {
                    output.append(", ")
                    output.append(escaped: redaction.value(of: other))
                }
            }
            output.append(UInt8(ascii: "\""))
        }
        if opening.utf8CodeUnitCount == 1 { output.append(UInt8(ascii: "}")) }
    }

    private func shows(_ name: HTTPFieldName) -> Bool { labels.headers.contains(name) }
    private func hides(_ name: HTTPFieldName) -> Bool { redaction.hides(name) }
}
