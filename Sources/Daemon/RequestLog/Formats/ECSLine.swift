import NetproxyBytes

/// Writes a line with the field names of the Elastic Common Schema (version 8.11).
///
/// The keys are flat and dotted, as Elastic's logging libraries write them. Facts without a name in
/// the schema are below `netproxy`.
enum ECSLine {
    private static let names: [String: String] = [
        "request_id": "http.request.id", "trace_id": "trace.id",
        "method": "http.request.method", "scheme": "url.scheme", "path": "url.path",
        "query": "url.query", "status": "http.response.status_code",
        "bytes_in": "http.request.body.bytes", "bytes_out": "http.response.body.bytes",
        "error": "error.code", "detail": "error.message",
    ]

    static func append(_ line: LogLine, to output: OutputBuffer) {
        guard case .object(let members) = line.object else { return }
        var fields = Fields(output)
        // The ECS logging specification requires these first, in this order.
        fields.add("@timestamp", .text(line.time))
        fields.add("log.level", line["level"] ?? .null)
        fields.add("message", .text(message(of: line)))
        fields.add("ecs.version", .text("8.11.0"))
        fields.add("service.name", .text("netproxy"))
        fields.add("event.kind", .text("event"))
        fields.add("event.action", line["event"] ?? .null)
        if line["event"]?.text == "exchange" {
            fields.add("event.category", .list([.text("web"), .text("network")]))
            fields.add("event.outcome", .text(outcome(of: line)))
        }
        for member in members { append(member, to: &fields) }
        fields.end()
    }

    private static func append(_ member: LogValue.Member, to fields: inout Fields) {
        switch member.name {
        case "time", "level", "event", "message": break
        case "client": address("client", member.value.plain, &fields)
        case "upstream": address("destination", member.value.plain, &fields)
        case "host":
            let (host, port) = split(member.value.plain)
            fields.add("url.domain", .text(host))
            if let port { fields.add("url.port", .number(port)) }
        case "client_uid": fields.add("client.user.id", .text(member.value.plain))
        case "protocol":
            let version = member.value.plain
            fields.add("http.version", .text(version.replacing("HTTP/", with: "")))
        case "duration_ms":
            // The schema's unit is the nanosecond.
            let nanoseconds = (member.value.number ?? 0) * 1_000_000
            fields.add("event.duration", .number(nanoseconds.rounded()))
        default: fields.add(names[member.name] ?? "netproxy.\(member.name)", member.value)
        }
    }

    private static func message(of line: LogLine) -> String {
        guard line["event"]?.text == "exchange" else { return line["message"]?.plain ?? "" }
        let target = line["path"] ?? line["host"]
        return [line["method"], target, line["status"]].compactMap { $0?.plain }
            .joined(separator: " ")
    }

    private static func outcome(of line: LogLine) -> String {
        guard let status = line["status"]?.integer else { return "unknown" }
        return status < 400 && line["error"] == nil && line["aborted_by"] == nil
            ? "success" : "failure"
    }

    private static func address(_ role: String, _ text: String, _ fields: inout Fields) {
        fields.add("\(role).address", .text(text))
        let (host, port) = split(text)
        // A unix socket has no address or port.
        guard let port else { return }
        let ip = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        fields.add("\(role).ip", .text(ip))
        fields.add("\(role).port", .number(port))
    }

    private static func split(_ text: String) -> (host: String, port: Double?) {
        guard let colon = text.lastIndex(of: ":"), text.last != "]",
            let port = Double(text[text.index(after: colon)...])
        else { return (text, nil) }
        return (String(text[..<colon]), port)
    }
}

extension ECSLine {
    /// The members of one flat object.
    private struct Fields {
        let output: OutputBuffer
        private var opening = "{"

        init(_ output: OutputBuffer) {
            self.output = output
        }

        mutating func add(_ name: String, _ value: LogValue) {
            if case .object(let members) = value {
                for member in members { add("\(name).\(member.name)", member.value) }
                return
            }
            output.append(opening)
            opening = ","
            output.append("\"")
            output.append(escaped: name)
            output.append("\":")
            value.append(to: output)
        }

        func end() { output.append("}") }
    }
}
