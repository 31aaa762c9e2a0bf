import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyLiveObjects

/// One stream of a session: its state, and the queued parts of our message.
final class HTTP2Stream {
    /// The method of the request, which determines whether the response may have content.
    let method: HTTPMethod
    var state = StreamState()
    /// Whether nghttp2 waits for more content.
    var isDeferred = false

    /// The number of received bytes that were not read.
    var unread = 0
    /// The number of bytes read since the window last grew.
    private var sinceGrowth = 0
    /// The window, once it has grown.
    private var window = 0

    /// The heads to send, in order, in the format of HTTP/1.
    ///
    /// Each is encoded when its frame is written, since a later head may refer to its entries in the table.
    private var head: (text: OutputBuffer, kind: FieldLines.Kind)?
    private var moreHeads: [(text: OutputBuffer, kind: FieldLines.Kind)] = []

    /// The content to send, in order.
    private var pieces: [ByteSlice] = []
    /// The number of sent bytes of the first piece.
    private var offset = 0
    /// The fields that follow the content, in the format of HTTP/1.
    var trailers: OutputBuffer?
    private let life = LiveObject(HTTP2Stream.self)

    init(_ method: HTTPMethod) {
        self.method = method
    }

    /// Records read content; returns the new size of the window if it has to grow.
    ///
    /// A reader that takes everything is faster than the window permits.
    func growWindow(from first: Int, upTo largest: Int, read count: Int) -> Int? {
        unread -= count
        sinceGrowth += count
        let present = max(first, window)
        let larger = min(2 * present, largest)
        guard unread == 0, larger > present, sinceGrowth >= present / 2, state.isReceiving else {
            return nil
        }
        (window, sinceGrowth) = (larger, 0)
        return larger
    }

    /// The number of unsent bytes of the first piece.
    var ready: Int { pieces.first.map { $0.count - offset } ?? 0 }
    /// Whether nothing follows the first piece.
    var isLastPiece: Bool { state.outgoing == .ending && pieces.count <= 1 }

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

    /// Drops the queued content.
    func drop() {
        pieces = []
        offset = 0
    }
}
