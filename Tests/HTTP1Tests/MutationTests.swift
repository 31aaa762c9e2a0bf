import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage
import TestSupport
import Testing

/// Damaged messages: any verdict is allowed, but it must be the same for whole messages and single bytes.
@Suite struct MutationTests {
    private static let splices: [[UInt8]] = [
        Array("\r\n".utf8), [0x0D], [0x0A], [0x00], [0x20], [0x09], [0x2C], [0x3B], [0x3A], [0xFF],
        Array("0\r\n\r\n".utf8), Array("\r\nContent-Length: 1".utf8),
        Array("\r\nTransfer-Encoding: chunked".utf8), Array("FFFFFFFFFFFFFFFF".utf8),
        Array("%00".utf8), Array("HTTP/1.1".utf8),
    ]

    private func mutants(of text: String, count: Int) -> [[UInt8]] {
        var generator = SplitMix64(seed: 42)
        return (0..<count).map { _ in
            var bytes = Array(text.utf8)
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(bytes[place], at: place)
                default:
                    let splice = MutationTests.splices.randomElement(using: &generator) ?? []
                    bytes.insert(contentsOf: splice, at: place)
                }
            }
            return bytes
        }
    }

    @Test func `a damaged request has one verdict`() {
        let text =
            "PUT /a?%41 HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
        for bytes in mutants(of: text, count: 400) {
            let whole = Replay.request(bytes, at: [], HTTP1Limits())
            let single = Replay.request(bytes, at: Array(0..<bytes.count), HTTP1Limits())
            #expect(whole.error == single.error)
            #expect(whole.consumed == single.consumed)
            #expect(whole.value?.headers == single.value?.headers)
        }
    }

    @Test func `a damaged response has one verdict`() {
        let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        for bytes in mutants(of: text, count: 400) {
            let whole = Replay.response(bytes, at: [], HTTP1Limits(), answering: .get)
            let single = Replay.response(
                bytes,
                at: Array(0..<bytes.count),
                HTTP1Limits(),
                answering: .get
            )
            #expect(whole.error == single.error)
            #expect(whole.consumed == single.consumed)
            #expect(whole.value?.framing == single.value?.framing)
        }
    }

    @Test func `damaged chunks have one verdict`() {
        let text = "5;a=b\r\nhello\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n"
        for bytes in mutants(of: text, count: 400) {
            let whole = Replay.body(bytes, at: [], HTTP1Limits(), framing: .chunked)
            let single = Replay.body(
                bytes,
                at: Array(0..<bytes.count),
                HTTP1Limits(),
                framing: .chunked
            )
            #expect(whole.error == single.error)
            #expect(whole.consumed == single.consumed)
            #expect(whole.value == single.value)
        }
    }
}
