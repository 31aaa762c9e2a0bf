/// Builds complete messages as text, so that stories contain only the relevant parts.
package enum Raw {
    /// Returns a request without content.
    package static func get(_ target: String, _ fields: String...) -> String {
        request("GET", target, fields: fields, body: nil)
    }

    /// Returns a request with content of known length.
    package static func post(_ target: String, body: String, _ fields: String...) -> String {
        request("POST", target, fields: fields, body: body)
    }

    /// Returns a request with `Host: localhost`.
    package static func request(
        _ method: String,
        _ target: String,
        fields: [String] = [],
        body: String? = nil
    ) -> String {
        var lines = ["\(method) \(target) HTTP/1.1", "Host: localhost"] + fields
        if let body { lines.append("Content-Length: \(body.utf8.count)") }
        return lines.map { "\($0)\r\n" }.joined() + "\r\n" + (body ?? "")
    }

    /// Returns a 200 response with content of known length.
    package static func ok(_ body: String = "hello", _ fields: String...) -> String {
        response("200 OK", fields: fields, body: body)
    }

    /// Returns a response with content of known length.
    package static func response(
        _ status: String,
        fields: [String] = [],
        body: String = ""
    ) -> String {
        (["HTTP/1.1 \(status)"] + fields + ["Content-Length: \(body.utf8.count)"])
            .map { "\($0)\r\n" }.joined() + "\r\n" + body
    }
}
