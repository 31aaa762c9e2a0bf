import NetproxyHTTPMessage
import Testing

@Suite struct HTTPFieldNameTests {
    @Test(arguments: [("Via", "VIA"), ("X-Thing", "x-thing"), ("ETag", "etag")])
    func `names are compared and hashed ignoring case`(_ left: String, _ right: String) throws {
        let (left, right) = (try #require(HTTPFieldName(left)), try #require(HTTPFieldName(right)))
        #expect(left == right)
        #expect(left.hashValue == right.hashValue)
        #expect(Set([left, right]).count == 1)
        #expect(left.description != right.description)
    }

    @Test(arguments: ["", "a b", "a:", "é", "a\r\n", "(a)", "a\"b"])
    func `a text that is not a token is not a field name`(text: String) {
        #expect(HTTPFieldName(text) == nil)
    }

    @Test(arguments: [
        "Authorization", "cookie", "X-API-KEY", "x_api_key", "Proxy_Authorization", "X.Auth.Token",
    ])
    func `a credential field is recognized in every spelling`(text: String) {
        #expect(HTTPFieldName(text)?.holdsCredential == true)
    }

    @Test(arguments: ["Host", "X-Api-Key-Id", "Authorizations", "X_Thing"])
    func `other fields do not hold credentials`(text: String) {
        #expect(HTTPFieldName(text)?.holdsCredential == false)
    }
}
