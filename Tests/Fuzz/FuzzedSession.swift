import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTP2
import NetproxyHTTPMessage

/// One side of a connection that is fed bytes, and what it makes of them.
enum FuzzedSession {
    /// The meaning of the bytes, one line for each event; pieces of content are put together.
    static func run(_ role: HTTP2Session.Role, _ bytes: [UInt8], cutAt cuts: [Int]) -> [String] {
        let session = HTTP2Session(role)
        if role == .client { for _ in 0..<2 { ask(session) } }
        drain(session)
        var meaning: [String] = []
        var content: [Int32: [UInt8]] = [:]
        var start = 0
        for end in cuts + [bytes.count] where end >= start {
            let part = Array(bytes[start..<end])
            start = end
            let isOver = (try? session.receive(part.span, now: 1)) == nil
            for event in session.takeEvents() {
                if case .content(let id, let range) = event {
                    content[id, default: []] += part[range]
                    session.consumed(range.count, on: id)
                } else if let line = line(of: event, content) {
                    meaning.append(line)
                }
                // Whether anything is read after it depends on what is still to be said.
                if case .goAway = event { return meaning }
            }
            drain(session)
            // That it is over shows in what it says no more: a stream that is reset may be gone by then or not.
            if isOver { return meaning }
        }
        return meaning
    }

    private static func ask(_ session: HTTP2Session) {
        let head = OutputBuffer()
        HeadEncoder.encodeRequest(
            method: .get,
            target: "/",
            host: "a",
            headers: HTTPHeaders(),
            framing: .none,
            into: head
        )
        _ = session.sendRequest(head, method: .get, scheme: "http", hasContent: false)
    }

    /// Its answers to frames are bounded by what has come.
    private static func drain(_ session: HTTP2Session) {
        let output = OutputBuffer()
        _ = try? session.produce(into: output, upTo: 1 << 20)
        Input.check(output.count < 1 << 20, "it says no more than it is asked")
    }

    private static func line(of event: HTTP2Event, _ content: [Int32: [UInt8]]) -> String? {
        switch event {
        case .request(let id, let head, let ends):
            check(head.headers)
            Input.check(!head.method.rawValue.isEmpty, "a request has a method")
            return "request \(id) \(head.method) \(head.target) \(head.headers.count) \(ends)"
        case .response(let id, let head, let ends):
            check(head.headers)
            return "response \(id) \(head.status) \(head.headers.count) \(ends)"
        case .ended(let id, let trailers):
            return "ended \(id) \(content[id]?.count ?? 0) \(trailers?.count ?? 0)"
        case .malformed(let id, let fault, _): return "malformed \(id) \(fault.reason)"
        case .goAway(let last, let code): return "goaway \(last) \(code)"
        // When a stream that we have reset is closed depends on when that is sent.
        case .closed, .settings, .pong, .sent, .content: return nil
        }
    }

    /// No field could be taken for another line of HTTP/1.
    private static func check(_ headers: HTTPHeaders) {
        for field in headers {
            Input.check(Grammar.isToken(field.name.description), "a name is a token")
            Input.check(Grammar.isFieldValue(field.value), "a value is a field's")
        }
    }
}
