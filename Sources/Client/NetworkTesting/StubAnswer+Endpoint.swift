public import NetworkClient

extension StubAnswer {
    /// Returns the response of an endpoint's sample.
    public static func sample(_ sample: SampleResponse) -> StubAnswer {
        switch sample {
        case .response(let status, let headers, let content):
            .data(content, status: status, headers: headers)
        case .failure(let error): .failure(error)
        }
    }

    /// Returns a stream of server-sent events with its `Content-Type`, each event in its own piece.
    ///
    /// The stream ends after the last event, or breaks off with `error` if one is given.
    public static func events(
        _ events: [ServerSentEvent],
        then error: NetworkError? = nil
    ) -> StubAnswer {
        var id = ""
        let pieces = events.map { event in
            defer { id = event.id }
            return text(of: event, after: id)
        }
        return .pieces(pieces, headers: [.contentType: "text/event-stream"], then: error)
    }

    /// Encodes an event (WHATWG HTML §9.2.6).
    ///
    /// An id stays valid until the stream contains another.
    private static func text(of event: ServerSentEvent, after id: String) -> String {
        var lines = event.type == "message" ? [] : ["event: \(event.type)"]
        if event.id != id { lines.append("id: \(event.id)") }
        if let retry = event.retry { lines.append("retry: \(Int(retry / .milliseconds(1)))") }
        lines += event.data.split(omittingEmptySubsequences: false) { "\n\r\r\n".contains($0) }
            .map { "data: \($0)" }
        return lines.joined(separator: "\n") + "\n\n"
    }
}
