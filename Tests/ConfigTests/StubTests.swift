import FoundationEssentials
import NetproxyConfig
import Testing

/// Tests of the responses of a stub.
@Suite struct StubTests {
    @Test func `responses keep their order and have defaults`() throws {
        let answers = try #require(
            try channel(
                """
                stub:
                  - { method: [GET, PUT], path: /a/*, status: 201, headers: { X-A: b }, body: c }
                  - { path: "*", file: /srv/sample, delay: 2s }
                  - { fault: connection_refused }
                """
            ).stub
        )
        #expect(answers.map(\.methods) == [["GET", "PUT"], [], []])
        #expect(answers.map(\.path) == ["/a/*", "*", nil])
        #expect(answers.map(\.status) == [201, 200, 200])
        #expect(answers.map(\.delay) == [.zero, .seconds(2), .zero])
        #expect(answers.map(\.content) == [.text("c"), .file("/srv/sample"), .none])
        #expect(answers.map(\.fault) == [nil, nil, .connectionRefused])
        #expect(answers[0].headers == [HeaderField(name: "X-A", value: "b")])
    }

    @Test func `a channel with a stub needs no upstream`() throws {
        let one = "channels: { a: { stub: [{ status: 204 }] } }\n"
        #expect(try load(one).channels[0].upstreams.isEmpty)
        let none = errors(in: "channels: { a: { stub: off } }\n")
        #expect(none == ["netproxy.yaml:1:13: channels.a.upstream: required"])
    }

    @Test func `all errors of a stub are reported together`() {
        let found = errors(
            inChannel: """
                stub:
                  - { method: get, path: orders, status: 99, body: [a], headers: { Host: b } }
                  - { boddy: a }
                  - { status: 204, body: a }
                  - { fault: gremlins }
                  - { path: /a, fault: dns_error, status: 500 }
                  - { path: /b, body: a, file: b }
                  - { path: /c }
                """
        )
        let place = "channels.a.stub"
        let never = "never used, because an earlier answer matches every request"
        let faults =
            "dns_error, dns_timeout, connection_refused, connection_timeout, connection_terminated, "
            + "tls_certificate_error, http_protocol_error, http_response_timeout or "
            + "http_response_incomplete"
        #expect(
            Set(found) == [
                "\(place)[0].method: expected a method such as GET, found 'get'",
                "\(place)[0].path: expected a path such as /orders/*, without query, found 'orders'",
                "\(place)[0].status: expected a whole number from 200 to 599, found '99'",
                "\(place)[0].body: expected a text; quote it, or use | for several lines",
                "\(place)[0].headers.Host: netproxy sets Host itself",
                "\(place)[1].boddy: unknown key, did you mean 'body'?",
                "\(place)[2].body: an answer with status 204 cannot have a body",
                "\(place)[3].fault: expected \(faults), found 'gremlins'",
                "\(place)[4].status: there is no response with the fault dns_error",
                "\(place)[5].file: body and file cannot be used together",
                "\(place)[5].file: expected an absolute path, found 'b'",
                "\(place)[1]: \(never)", "\(place)[2]: \(never)", "\(place)[3]: \(never)",
                "\(place)[4]: \(never)", "\(place)[5]: \(never)", "\(place)[6]: \(never)",
            ]
        )
    }

    @Test(arguments: [
        ("/tmp/orders.yaml", "expected a list of answers, found '/tmp/orders.yaml'"),
        ("[]", "expected at least one answer; remove stub to have none"),
    ])
    func `a stub is a list`(value: String, message: String) {
        #expect(errors(inChannel: "stub: \(value)") == ["channels.a.stub: \(message)"])
    }
}
