import NetproxyHTTPMessage
import Testing

/// Names that some servers treat as the same.
@Suite struct FieldNameLookAlikesTests {
    private func name(_ text: String) throws -> HTTPFieldName {
        try #require(HTTPFieldName(text))
    }

    @Test(arguments: [
        "X-Api-Key", "x-api-key", "X_Api_Key", "X.Api.Key", "X~Api~Key", "X!Api!Key", "x'api*key",
        "X-Api_Key", "X`Api^Key", "X|Api$Key", "X+Api&Key", "X#Api%Key",
    ])
    func `bytes other than letters and digits are equivalent`(text: String) throws {
        #expect(try name("X-Api-Key").looksLike(name(text)))
        #expect(try name(text).looksLike("X_API.KEY"))
    }

    @Test(arguments: ["X-Api-Keys", "X-Api-Ke", "XApiKey", "X--Api-Key", "X-Api1Key", "Y-Api-Key"])
    func `different letters, digits or lengths do not look alike`(text: String) throws {
        #expect(try !name("X-Api-Key").looksLike(name(text)))
    }

    @Test(arguments: ["Content_Length", "content.length", "CONTENT~LENGTH", "Content!Length"])
    func `an imitation looks like a name but differs from it`(text: String) {
        let isImitation = HTTPFieldName.contentLength.isImitated(by: text.utf8.span)
        #expect(isImitation)
    }

    @Test(arguments: [
        "Content-Length", "content-length", "Content_Lengt", "Content_Lengthy", "Content0Length",
    ])
    func `neither the name itself nor a different name is an imitation`(text: String) {
        let isImitation = HTTPFieldName.contentLength.isImitated(by: text.utf8.span)
        #expect(!isImitation)
    }

    @Test func `a section finds a field in every spelling`() {
        let headers: HTTPHeaders = ["X-A": "1", "x.api.key": "mine", "X_Api_Key": "other"]
        #expect(headers.contains(like: "X-Api-Key"))
        #expect(!headers.contains("X-Api-Key"))
        #expect(headers.values(like: "X-Api-Key") == ["mine", "other"])
        #expect(headers.firstName(like: ["X-B", "X-Api-Key"]) == "x.api.key")
        #expect(headers.firstName(like: ["X-B"]) == nil)
        #expect(!headers.contains(like: "X-B"))
    }

    @Test func `all spellings of a field are removed`() {
        var headers: HTTPHeaders = [
            "X-Api-Key": "1", "Accept": "2", "X~Api~Key": "3", "X-A": "4", "x_api-key": "5",
        ]
        headers.removeAll(like: "X-Api-Key")
        #expect(headers == ["Accept": "2", "X-A": "4"])
    }

    @Test func `a rule may use the unusual spelling`() {
        var headers: HTTPHeaders = ["X-Forwarded-For": "1", "X-Tenant-Id": "2", "X-A": "3"]
        #expect(headers.contains(like: "X_Forwarded_For"))
        #expect(headers.contains(like: "X_Tenant_Id"))
        headers.removeAll(like: "X_Forwarded_For")
        headers.removeAll(like: "X_Tenant_Id")
        #expect(headers == ["X-A": "3"])
        #expect(!headers.contains(KnownField.xForwardedFor))
    }

    @Test func `look-alikes are found in combined sections`() {
        let odd: HTTPHeaders = ["User_Agent": "x"]
        for isShared in [false, true] {
            var headers: HTTPHeaders = ["X-A": "1"]
            if isShared { headers.attach(odd) } else { headers.append(odd) }
            #expect(headers.contains(like: .userAgent))
            let defaults: HTTPHeaders = [.userAgent: "app"]
            #expect(headers.mayOverlap(defaults))
        }
    }

    @Test func `imitations are removed, and the field itself stays`() {
        var headers: HTTPHeaders = ["X_Tenant": "1", "X-Tenant": "2", "X-Request-Id": "3"]
        headers.removeImitations(of: ["X-Tenant", "X_Request_Id"])
        #expect(headers == ["X-Tenant": "2"])
    }

    @Test func `imitations of hop-by-hop fields are removed, and the fields themselves stay`() {
        var headers: HTTPHeaders = ["Proxy_Authorization": "x", "Keep-Alive": "y", "X_B": "z"]
        headers.removeImitations(of: KnownFieldSet.hopByHop)
        #expect(headers == ["Keep-Alive": "y", "X_B": "z"])
    }
}
