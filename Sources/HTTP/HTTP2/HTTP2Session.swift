import CNetproxyNghttp2
package import NetproxyBytes
import NetproxyHTTP1
package import NetproxyHTTPMessage
import NetproxyLiveObjects

/// One HTTP/2 connection (RFC 9113) without I/O: bytes in, events out; messages in, bytes out.
///
/// nghttp2 implements framing and flow control. The rules for messages are those of `HTTP1`: see
/// `FieldBlock`, `FieldLines` and `StreamState`. Not `Sendable`.
// SAFETY: nghttp2's session is created in `init`, freed in `deinit`, and used on one thread. It calls back
// only during calls of this class, which keep it alive.
@safe package final class HTTP2Session {
    /// The end of the connection.
    package enum Role: Sendable {
        case client, server
    }

    package let role: Role
    let limits: HTTP2Limits
    private var session: OpaquePointer?
    // SAFETY: one thread, and no method calls out while it changes one of these, so accesses never overlap.
    @exclusivity(unchecked) private(set) var streams = StreamTable<HTTP2Stream>()
    @exclusivity(unchecked) var events: [HTTP2Event] = []
    @exclusivity(unchecked) var block: FieldBlock
    var requestDecoder: RequestHeadDecoder
    var responseDecoder: ResponseHeadDecoder
    @exclusivity(unchecked) var budget: FrameBudget
    @exclusivity(unchecked) private var window: ConnectionWindow
    private let memory: ContentBudget
    /// The reason for this class to end the connection.
    var overrun: (code: HTTP2Code, reason: String)?
    /// The number of CONTINUATION frames in the current field block.
    var continuations = 0
    /// Whether a field block is incomplete, so that no other frame may follow.
    package internal(set) var isInBlock = false
    /// Whether the peer accepts no more streams.
    var hasGoneAway = false
    /// Whether this side has ended the connection.
    private var isEnding = false
    /// The last error message of nghttp2.
    var complaint: String?
    @exclusivity(unchecked) private var encoder = FieldEncoder()
    private let encoded = OutputBuffer(capacity: 1024)
    /// The head of the frame being written.
    @exclusivity(unchecked) private var headToWrite: (text: OutputBuffer, kind: FieldLines.Kind)?
    /// Unused buffers for heads.
    @exclusivity(unchecked) private var spare: [OutputBuffer] = []
    private let life = LiveObject(HTTP2Session.self)
    /// The destination of content frames, while output is produced.
    var output: OutputBuffer?
    /// The first of the bytes being received.
    var input: UnsafePointer<UInt8>?

    /// Begins a connection; its first output is the preface with our settings.
    ///
    /// - Parameters:
    ///   - role: the end of the connection.
    ///   - limits: the limits of the connection.
    ///   - memory: the budget for received content.
    package init(
        _ role: Role,
        limits: HTTP2Limits = HTTP2Limits(),
        memory: ContentBudget = .process
    ) {
        self.role = role
        self.limits = limits
        self.memory = memory
        unsafe window = ConnectionWindow(largest: limits.connectionWindow)
