import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyLiveObjects

/// One stream of a session: what is known of the message that comes, and what is still to be sent.
final class HTTP2Stream {
    /// The method of the request, which decides what an answer may hold.
    let method: HTTPMethod
    /// Whether the head of the message has come: of a response, the final one.
    var hasHead = false
    /// Whether the message was refused: what still comes of it is dropped.
    var isRefused = false
    /// How much content is still to come, where the head says so.
    var announced: Int?
    /// Whether the message may have content at all.
    var takesContent = true

    /// The heads to send, in order, as HTTP/1 writes them: they are encoded when their frame is, since what is
    /// encoded later may name it.
    private var head: (text: OutputBuffer, kind: FieldLines.Kind)?
    private var moreHeads: [(text: OutputBuffer, kind: FieldLines.Kind)] = []

    /// The content to send, in order.
    private(set) var pieces: [ByteSlice] = []
    /// How much of the first piece has been sent.
    private var offset = 0
    /// Whether nothing follows the pieces.
    var isEnded = false
    /// The fields that follow the content, as HTTP/1 writes them.
    var trailers: OutputBuffer?
    /// Whether the end of our message is on its way.
    var isSent = false
    /// What the stream is reset with once that is so, since the peer goes on sending.
    var stopCode: HTTP2Code?
    /// Whether nghttp2 waits for more content.
    var isDeferred = false
    private let life = LiveObject(HTTP2Stream.self)

    init(_ method: HTTPMethod) {
        self.method = method
    }

    /// How much of the first piece is left, in bytes.
    var ready: Int { pieces.first.map { $0.count - offset } ?? 0 }
    /// Whether the first piece is the last one.
    var isLastPiece: Bool { pieces.count <= 1 }

    func queue(_ text: OutputBuffer, _ kind: FieldLines.Kind) {
        if head == nil { head = (text, kind) } else { moreHeads.append((text, kind)) }
    }

    func takeHead() -> (text: OutputBuffer, kind: FieldLines.Kind)? {
        defer { head = moreHeads.isEmpty ? nil : moreHeads.removeFirst() }
        return head
    }

    func queue(_ piece: ByteSlice) {
        if piece.count > 0 { pieces.append(piece) }
    }

    /// Writes the next bytes.
    func take(_ count: Int, into output: OutputBuffer) {
        guard count > 0, let first = pieces.first else { return }
        output.append(first.span.extracting(offset..<(offset + count)))
        offset += count
        guard offset == first.count else { return }
        offset = 0
        pieces.removeFirst()
    }

    func drop() {
        pieces = []
        offset = 0
    }

    // MARK: - What comes

    /// Notes the head of a request or of a final response.
    func begin(_ framing: BodyFraming, ends: Bool) throws(HTTP2Fault) {
        hasHead = true
        switch framing {
        case .none: takesContent = false
        case .length(let length):
            announced = length
            if ends, length > 0 { throw .contentBelowLength }
        case .chunked, .untilClose: break
        }
    }

    func receive(_ count: Int) throws(HTTP2Fault) {
        guard count > 0 else { return }
        guard hasHead, takesContent else { throw .unexpectedContent }
        guard let left = announced else { return }
        guard count <= left else { throw .contentBeyondLength }
        announced = left - count
    }

    func end() throws(HTTP2Fault) {
        guard announced ?? 0 == 0 else { throw .contentBelowLength }
    }
}
