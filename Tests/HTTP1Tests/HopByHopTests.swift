import NetproxyHTTP1
import NetproxyHTTPMessage
import Testing

@Suite struct HopByHopTests {
    @Test func `fields of one connection are removed, and all others stay`() {
        var headers: HTTPHeaders = [
            "Connection": "keep-alive", "TE": "trailers", "X-A": "1", "Upgrade": "h2c",
            "HTTP2-Settings": "x", "Proxy-Authorization": "x", "Keep-Alive": "timeout=5",
            "Proxy-Authenticate": "Basic", "Proxy-Authentication-Info": "x",
            "Proxy-Connection": "keep-alive",
            "Trailer": "X-Sum", "Authorization": "x", "Transfer-Encoding": "chunked",
        ]
        let removal = HopByHop(removingFrom: &headers)
        #expect(headers.map(\.name) == ["X-A", "Trailer", "Authorization"])
        #expect(removal.refused.isEmpty)
    }

    @Test func `another spelling of such a field is removed`() {
        var headers: HTTPHeaders = [
            "Proxy_Authorization": "Bearer key", "Keep.Alive": "x", "Content.Length": "5",
            "Transfer~Encoding": "chunked", "X_Api_Key": "k", "ETag": "e",
        ]
        let removal = HopByHop(removingFrom: &headers)
        #expect(headers == ["X_Api_Key": "k", "ETag": "e"])
        #expect(removal.refused.isEmpty)
    }

    @Test func `fields that Connection nominates are removed`() {
        var headers: HTTPHeaders = [
            "X-A": "1", "Connection": "x-a, ETag", "X-B": "2", "ETag": "c", "x-C": "3",
            "connection": "close,, X-C",
        ]
        let removal = HopByHop(removingFrom: &headers)
        #expect(headers == ["X-B": "2"])
        #expect(removal.refused.isEmpty)
    }

    @Test func `a credential cannot be nominated`() {
        var headers: HTTPHeaders = [
            "Connection": "authorization, Host, X-Key, cookie, content-length, connection",
            "Authorization": "x", "Host": "a", "X-Key": "k", "Cookie": "c", "Content-Length": "5",
        ]
        let removal = HopByHop(removingFrom: &headers, protecting: ["x-key"])
        #expect(headers.count == 5)
        #expect(removal.refused.map(\.text).count == 6)
        #expect(removal.refused.contains("X-Key"))
    }

    /// A head can nominate thousands of fields: neither the work nor the log line may grow with each.
    @Test func `a name counts once even if it is nominated repeatedly`() {
        let names = (0..<500).map { "x-\($0 % 7), host, etag, X-Key, authorization" }
        var headers = HTTPHeaders()
        for name in ["X-0", "X-6", "X-7", "ETag", "X-Key", "Host"] {
            headers.append(HTTPFieldName(stringLiteral: name), validated: "v")
        }
        headers.append(.connection, validated: names.joined(separator: ","))
        let removal = HopByHop(removingFrom: &headers, protecting: ["x-key"])
        #expect(headers.map(\.name) == ["X-7", "X-Key", "Host"])
        #expect(removal.refused == ["Host", "X-Key", "Authorization"])
    }

    @Test func `a section without such fields stays unchanged`() {
        var headers: HTTPHeaders = ["X-A": "1", "Host": "a"]
        let before = headers
        _ = HopByHop(removingFrom: &headers)
        #expect(headers == before)
    }
}
