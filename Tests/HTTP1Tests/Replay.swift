import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage

/// Feeds raw messages to the decoders like a connection, in pieces of every size.
enum Replay {
    /// The outcome of decoding a message.
    enum Outcome<Value: Sendable>: Sendable {
        case decoded(Value, consumed: Int)
        case refused(HTTP1Error)
        case incomplete

        var value: Value? { if case .decoded(let value, _) = self { value } else { nil } }
        var error: HTTP1Error? { if case .refused(let error) = self { error } else { nil } }
        var consumed: Int? { if case .decoded(_, let consumed) = self { consumed } else { nil } }
    }

    /// The content of a body, and the bytes after it.
    struct Body: Sendable, Equatable {
        var content: [UInt8] = []
        var trailers: HTTPHeaders?

        var text: String { String(decoding: content, as: UTF8.self) }
    }

    static func request(_ raw: [UInt8], at cuts: [Int], _ limits: HTTP1Limits) -> Outcome<
        RequestHead
    > {
        var decoder = RequestHeadDecoder(limits: limits)
        return head(raw, at: cuts) { bytes throws(HTTP1Error) in try decoder.decode(bytes) }
    }

    static func response(
        _ raw: [UInt8],
        at cuts: [Int],
        _ limits: HTTP1Limits,
        answering method: HTTPMethod
    ) -> Outcome<ResponseHead> {
        var decoder = ResponseHeadDecoder(limits: limits)
        return head(raw, at: cuts) { bytes throws(HTTP1Error) in
            try decoder.decode(bytes, answering: method)
        }
    }

    static func body(
        _ raw: [UInt8],
        at cuts: [Int],
        _ limits: HTTP1Limits,
        framing: BodyFraming
    ) -> Outcome<Body> {
        var decoder = BodyDecoder(framing, limits: limits)
        var body = Body()
        var consumed = 0
        do throws(HTTP1Error) {
            for end in cuts + [raw.count] {
                feeding: while true {
                    switch try decoder.next(raw.span.extracting(consumed..<end)) {
                    case .needMore(let count):
                        consumed += count
                        break feeding
                    case .data(let skip, let count):
                        body.content += raw[(consumed + skip)..<(consumed + skip + count)]
                        consumed += skip + count
                    case .end(let count):
                        body.trailers = decoder.trailers
                        return .decoded(body, consumed: consumed + count)
                    }
                }
            }
            return .incomplete
        } catch {
            return .refused(error)
        }
    }

    /// Returns the ways to cut a message: not at all, once at every byte, and into single bytes.
    static func cuts(of raw: [UInt8]) -> [[Int]] {
        [[], Array(0..<raw.count)] + (0..<raw.count).map { [$0] }
    }

    private static func head<Head: Sendable>(
        _ raw: [UInt8],
        at cuts: [Int],
        decode: (Span<UInt8>) throws(HTTP1Error) -> (head: Head, consumed: Int)?
    ) -> Outcome<Head> {
        do throws(HTTP1Error) {
            for end in cuts + [raw.count] {
                if let (head, consumed) = try decode(raw.span.extracting(0..<end)) {
                    return .decoded(head, consumed: consumed)
                }
            }
            return .incomplete
        } catch {
            return .refused(error)
        }
    }
}

/// A raw message and the expected outcome, regardless of the cut.
struct Case<Verdict: Sendable>: Sendable, CustomStringConvertible {
    let name: String
    let raw: String
    let verdict: Verdict

    init(_ name: String, _ raw: String, _ verdict: Verdict) {
        self.name = name
        self.raw = raw
        self.verdict = verdict
    }

    /// The bytes; every scalar of the text represents one byte (0x00...0xFF).
    var bytes: [UInt8] { raw.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }
    var description: String { name }
}
