import NetproxyHTTPMessage
import Testing

@Suite struct HTTPMethodTests {
    @Test(arguments: ["GET", "PUT", "POST", "DELETE", "M-SEARCH", "get", "a!#$%&'*+-.^_`|~0"])
    func `a method is a token, and its case counts`(text: String) throws {
        let method = try #require(HTTPMethod(rawValue: text))
        #expect(method.rawValue == text)
        let fromBytes = HTTPMethod(validated: text.utf8.span)
        #expect(fromBytes == method)
        #expect((method == .get) == (text == "GET"))
    }

    @Test(arguments: ["", " GET", "GET ", "G T", "GÉT", "GET\r", "(GET)"])
    func `anything else is not a method`(text: String) {
        #expect(HTTPMethod(rawValue: text) == nil)
    }

    @Test(arguments: [
        ("GET", true), ("HEAD", true), ("PUT", true), ("DELETE", true), ("OPTIONS", true),
        ("TRACE", true), ("PROPFIND", true), ("REPORT", true), ("SEARCH", true), ("POST", false),
        ("PATCH", false), ("CONNECT", false), ("COPY", false), ("MOVE", false), ("get", false),
    ])
    func `idempotent are the methods that the RFCs call so`(text: String, isIdempotent: Bool) {
        #expect(HTTPMethod(rawValue: text)?.isIdempotent == isIdempotent)
    }

    @Test func `a list with GET includes HEAD, and not the other way round`() {
        #expect(HTTPMethod.head.isAmong([.get]))
        #expect(!HTTPMethod.get.isAmong([.head]))
        #expect(!HTTPMethod.post.isAmong([.get, .head]))
        #expect(!HTTPMethod.get.isAmong([]))
    }
}
