import NetproxyConfig
import Testing

/// Tests of references to secrets: their syntax and their printed form.
@Suite struct SecretReferenceTests {
    @Test(arguments: ["hunter2", "file:relative", "env:", "env:A B", "cred:../x", "exec:ls", "a:b"])
    func `a bare string is not a reference`(text: String) {
        #expect(SecretReference(text: text) == nil)
    }

    @Test func `the arguments of a program are never printed`() throws {
        let reference = try #require(SecretReference(text: "exec:/bin/pass --key hunter2"))
        #expect("\(reference)" == "exec:/bin/pass")
    }

    @Test func `a literal is never printed`() throws {
        let channel = try channel("auth: { bearer: literal:hunter2 }")
        var dumped = ""
        dump(channel, to: &dumped)
        #expect(!dumped.contains("hunter2"))
        #expect(!"\(channel)".contains("hunter2"))
        #expect(!String(reflecting: channel.authentication).contains("hunter2"))
    }
}
