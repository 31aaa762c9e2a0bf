import NetproxyBytes

/// Writes a line with the field names of the Elastic Common Schema (version 8.11).
///
/// The keys are flat and dotted, as Elastic's logging libraries write them. Facts without a name in the
/// schema are under `netproxy`.
enum ECSLine {
    /// The form of a member in the schema.
    private enum Form {
        case field(String)
        case address(role: String)
        case authority, userID, version, milliseconds
        /// Written before the other members.
        case first
    }

    private static let forms: [String: Form] = {
        let forms: [(LogKey, Form)] = [
            (.time, .first), (.level, .first), (.event, .first), (.message, .first),
            (.client, .address(role: "client")), (.upstream, .address(role: "destination")),
            (.host, .authority), (.clientUID, .userID), (.protocolVersion, .version),
            (.duration, .milliseconds), (.requestID, .field("http.request.id")),
            (.traceID, .field("trace.id")), (.method, .field("http.request.method")),
            (.scheme, .field("url.scheme")), (.path, .field("url.path")),
            (.query, .field("url.query")), (.status, .field("http.response.status_code")),
            (.bytesIn, .field("http.request.body.bytes")),
            (.bytesOut, .field("http.response.body.bytes")), (.error, .field("error.code")),
            (.detail, .field("error.message")),
        ]
        return Dictionary(uniqueKeysWithValues: forms.map { ($0.name, $1) })
    }()

    static func append(_ line: LogLine, to output: OutputBuffer) {
        guard case .object(let members) = line.object else { return }
        var fields = Fields(output)
        // The ECS logging specification requires these first, in this order.
        fields.add("@timestamp", .text(line.time))
        fields.add("log.level", line[.level] ?? .null)
        fields.add("message", .text(message(of: line)))
        fields.add("ecs.version", .text("8.11.0"))
        fields.add("service.name", .text("netproxy"))
        fields.add("event.kind", .text("event"))
        fields.add("event.action", line[.event] ?? .null)
        if line[.event]?.text == "exchange" {
            fields.add("event.category", .list([.text("web"), .text("network")]))
            fields.add("event.outcome", .text(outcome(of: line)))
        }
        for member in members { append(member, to: &fields) }
        fields.end()
    }

    private static func append(_ member: LogValue.Member, to fields: inout Fields) {
        switch forms[member.name] {
        case .first: break
        case .address(let role): address(role, member.value.plain, &fields)
        case .authority:
            let (host, port) = split(member.value.plain)
            fields.add("url.domain", .text(host))
            if let port { fields.add("url.port", .number(port)) }
        case .userID: fields.add("client.user.id", .text(member.value.plain))
        case .version:
            let version = member.value.plain
            fields.add("http.version", .text(version.replacing("HTTP/", with: "")))
        case .milliseconds:
            // The schema's unit is the nanosecond.
            let nanoseconds = (member.value.number ?? 0) * 1_000_000
            fields.add("event.duration", .number(nanoseconds.rounded()))
        case .field(let name): fields.add(name, member.value)
        case nil: fields.add("netproxy.\(member.name)", member.value)
        }
    }

    private static func message(of line: LogLine) -> String {
        guard line[.event]?.text == "exchange" else { return line[.message]?.plain ?? "" }
        let target = line[.path] ?? line[.host]
        return [line[.method], target, line[.status]].compactMap { $0?.plain }
            .joined(separator: " ")
    }

    private static func outcome(of line: LogLine) -> String {
        guard let status = line[.status]?.integer else { return "unknown" }
        return status < 400 && line[.error] == nil && line[.abortedBy] == nil
            ? "success" : "failure"
    }

    private static func address(_ role: String, _ text: String, _ fields: inout Fields) {
        fields.add("\(role).address", .text(text))
        let (host, port) = split(text)
        // A Unix socket has no address or port.
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
