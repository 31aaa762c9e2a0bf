import NetproxyHTTPMessage
import Testing

@Suite struct TargetPathTests {
    @Test func `path and query are split at the first question mark`() {
        #expect(TargetPath("/a?b?c").path == "/a")
        #expect(TargetPath("/a?b?c").query == "b?c")
        #expect(TargetPath("/a?").query?.isEmpty == true)
        #expect(TargetPath("/a").query == nil)
    }

    @Test(arguments: [
        ("/", "/"), ("/a/b", "/"), ("/a/../b", "/"), ("/a/./b/../..", "/"), ("/..a/a../...", "/"),
        ("/a%2fb", "/"), ("/a?/../..", "/"), ("/.well-known/x", "/"), ("/a;b/c", "/"),
        ("/v1", "/v1"), ("/v1/", "/v1"), ("/v1/a", "/v1"), ("/v1/a/..", "/v1"), ("/v1/a", "/v1/"),
        ("/v1/a%2fb/c/..", "/v1"), ("/v1?x", "/v1"), ("/v1/%41/..", "/v1"), ("/v1//", "/v1"),
    ])
    func `a path stays under its base`(_ path: String, _ base: String) {
        #expect(TargetPath(path).staysUnder(base))
    }

    @Test(arguments: [
        ("/..", "/"), ("/../a", "/"), ("/a/../..", "/"), ("/%2e%2e", "/"), ("/.%2E/a", "/"),
        ("/%2e./a", "/"), ("/..%2fa", "/"), ("/..%5Ca", "/"), ("/..\\a", "/"), ("/..;x/a", "/"),
        ("/a/..%2f..", "/"), ("/%2f../a", "/"), ("/%2e%2e%2f", "/"), ("/.//..", "/"),
        ("/a%2f..%2f../b", "/"), ("/;/..", "/"), ("/%2f/..", "/"), ("*", "/"), ("", "/"),
        ("a", "/"), ("/v1/..", "/v1"), ("/v1/a/../../v1/b", "/v1"), ("/v10", "/v1"),
        ("/V1/a", "/v1"), ("/v1%2fa", "/v1"), ("/", "/v1"), ("/v1/a%2fb/../..", "/v1"),
        ("/v1//..", "/v1"), ("/a/v1", "/v1"),
    ])
    func `a path that could leave its base is detected`(_ path: String, _ base: String) {
        #expect(!TargetPath(path).staysUnder(base))
    }
}
