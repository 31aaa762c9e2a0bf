import NetproxyHTTPMessage
import Testing

@Suite struct HTTPMethodTests {
    @Test(arguments: ["GET", "PUT", "POST", "DELETE", "M-SEARCH", "get", "a!#$%&'*+-.^_`|~0"])
    func `a method is a case-sensitive token`(text: String) throws {
        let method = try #require(HTTPMethod(rawValue: text))
        #expect(method.rawValue == text)
        let fromBytes = HTTPMethod(validated: text.utf8.span)
        #expect(fromBytes == method)
        #expect((method == .get) == (text == "GET"))
    }

    @Test(arguments: ["", " GET", "GET ", "G T", "GÉT", "GET\r", "(GET)"])
    func `any other text is not a method`(text: String) {
        #expect(HTTPMethod(rawValue: text) == nil)
    }

    @Test(arguments: [
        ("GET", true), ("HEAD", true), ("PUT", true), ("DELETE", true), ("OPTIONS", true),
        ("TRACE", true), ("PROPFIND", true), ("REPORT", true), ("SEARCH", true), ("POST", false),
        ("PATCH", false), ("CONNECT", false), ("COPY", false), ("MOVE", false), ("get", false),
    ])
    func `the methods that the RFCs define as idempotent are idempotent`(
        text: String,
        isIdempotent: Bool
    ) {
        #expect(HTTPMethod(rawValue: text)?.isIdempotent == isIdempotent)
    }

    @Test func `a list with GET includes HEAD, but not the reverse`() {
        #expect(HTTPMethod.head.isAmong([.get]))
        #expect(!HTTPMethod.get.isAmong([.head]))
        #expect(!HTTPMethod.post.isAmong([.get, .head]))
        #expect(!HTTPMethod.get.isAmong([]))
    }
}
