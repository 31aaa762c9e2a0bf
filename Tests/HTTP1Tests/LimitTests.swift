import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage
import Testing

@Suite struct LimitTests {
    private let host = "Host: a\r\n"

    private func verdict(_ raw: String, _ limits: HTTP1Limits = HTTP1Limits()) -> HTTP1Error? {
        let bytes = Array(raw.utf8)
        let whole = Replay.request(bytes, at: [], limits).error
        let single = Replay.request(bytes, at: Array(0..<bytes.count), limits).error
        #expect(whole == single)
        return whole
    }

    @Test func `a head at the limit is accepted, and one byte more is refused`() {
        var limits = HTTP1Limits()
        limits.sectionSize = 64
        let frame = "GET / HTTP/1.1\r\n\(host)X: \r\n\r\n"
        let filler = String(repeating: "x", count: 64 - frame.utf8.count)
        #expect(verdict("GET / HTTP/1.1\r\n\(host)X: \(filler)\r\n\r\n", limits) == nil)
        #expect(
            verdict("GET / HTTP/1.1\r\n\(host)X: \(filler)x\r\n\r\n", limits) == .sectionTooLarge
        )
    }

    @Test func `an endless head is refused at the limit`() {
        let filler = String(repeating: "x", count: 17 * 1024)
        #expect(verdict("GET / HTTP/1.1\r\n\(host)X: \(filler)") == .sectionTooLarge)
    }

    @Test func `a hundred fields are accepted, and one more is refused`() {
        let fields = String(repeating: "X: y\r\n", count: 99)
        #expect(verdict("GET / HTTP/1.1\r\n\(host)\(fields)\r\n") == nil)
        #expect(verdict("GET / HTTP/1.1\r\n\(host)\(fields)X: y\r\n\r\n") == .tooManyFields)
    }

    @Test func `a target at the limit is accepted, and one byte more is refused`() {
        let path = "/" + String(repeating: "x", count: 8 * 1024 - 1)
        #expect(verdict("GET \(path) HTTP/1.1\r\n\(host)\r\n") == nil)
        #expect(verdict("GET \(path)x HTTP/1.1\r\n\(host)\r\n") == .targetTooLong)
    }

    @Test func `an endless request line is refused early`() {
        #expect(verdict("GET /" + String(repeating: "x", count: 9 * 1024)) == .targetTooLong)
    }

    @Test func `an endless status line is refused at the limit`() {
        let raw = Array(("HTTP/1.1 200 " + String(repeating: "x", count: 17 * 1024)).utf8)
        let outcome = Replay.response(raw, at: [], HTTP1Limits(), answering: .get)
        #expect(outcome.error == .sectionTooLarge)
    }

    @Test func `every error has a suitable status and a reason`() {
        for error in HTTP1Error.allCases {
            #expect([400, 413, 414, 417, 431, 501, 505].contains(error.status.rawValue))
            #expect(error.reason.utf8CodeUnitCount > 10)
        }
    }
}
