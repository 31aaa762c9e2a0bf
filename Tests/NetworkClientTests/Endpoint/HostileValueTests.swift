import FoundationEssentials
import NetproxyBytes
import NetproxyHTTPMessage
import NetworkClient
import NetworkTesting
import OriginTransport
import TestSupport
import Testing

/// Tests that no external value crashes the process: it is sent unchanged, or an error names the problem.
@Suite struct HostileValueTests {
    private static let values = [
        "", " ", "\n", "a\r\nX-Evil: 1", "a\0b", "\u{7F}", " a", "a ", "\u{FFFD}\u{FEFF}", "é", "😀",
        "../..", "%", "%00", "%2e%2e", "?", "#", ":", "//", "a:b@c", "[::1", "http://", "\\",
        String(repeating: "a", count: 70_000), String(repeating: "\n", count: 70_000),
    ]

    /// Returns the error of a build, if any, and checks that it is short and has one line.
    private static func refusal(_ request: () throws -> Request) throws -> NetworkError? {
        do {
            _ = try request()
            return nil
        } catch {
            let error = try #require(error as? NetworkError)
            #expect(error.kind == .httpRequestError)
            #expect(!error.detail.contains("\n") && error.detail.utf8.count < 2100)
            return error
        }
    }

    private static let base = RequestBuilder("https://api.test/v1").path("/a")

    private static func isSendable(_ value: String) -> Bool { HTTPField("X-A", value) != nil }

    @Test(arguments: values.indices)
    func `an invalid field value is refused when the request is built`(index: Int) throws {
        let value = Self.values[index]
        let sections: [HTTPHeaders] = [
            ["X-First": "1", .authorization: value], HTTPHeaders(["Authorization": value]),
            HTTPHeaders([HTTPField.authorization(Secret(value)), .accept("*/*")]),
        ]
        for headers in sections {
            let refusal = try Self.refusal { try Self.base.headers(headers).build() }
            #expect((refusal == nil) == Self.isSendable(value))
            #expect(refusal?.detail.contains("Authorization") ?? true)
            #expect(headers[.authorization] == (Self.isSendable(value) ? value : nil))
        }
        for field in [
            HTTPField.bearer(Secret("a\(value)\n")), .accept(value, "\n"),
            .acceptCharset(value, "\n"),
            .acceptEncoding(value, "\n"), .acceptLanguage(value, "\n"), .userAgent("a\n\(value)"),
            .contentDisposition("a\n\(value)"), .contentType("a\n\(value)"),
            .basic(username: "\(value)\n", password: Secret(value)),
        ] {
            let refusal = try Self.refusal {
                try Self.base.headers(HTTPHeaders([field])).build()
            }
            #expect(refusal?.detail.contains(field.name.text) == true)
        }
    }

    @Test(arguments: values.indices)
    func `an invalid field name is refused when the request is built`(index: Int) throws {
        let name = Self.values[index]
        let written = HTTPFieldName(stringLiteral: name)
        let sections: [HTTPHeaders] = [[written: "1"], HTTPHeaders([name: "1"])]
        for headers in sections {
            let refusal = try Self.refusal { try Self.base.headers(headers).build() }
            #expect((refusal == nil) == (HTTPFieldName(name) != nil))
            #expect(headers[written] == (refusal == nil ? "1" : nil))
        }
    }

    @Test func `an invalid field survives every kind of copy, and is never sent`() throws {
        let unfit: HTTPHeaders = [.cookie: "a\n", "X-Fit": "1"]
        var copies = [HTTPHeaders(unfit), unfit]
        copies.append(try HTTPHeaders(validating: [:]))
        copies[2].append(unfit)
        copies[1].set(try #require(HTTPField("X-Fit", "2")))
        for headers in copies {
            let error = #expect(throws: NetworkError.self) { try headers.checkFitness() }
            #expect(error?.detail.contains("Cookie") == true)
            let output = OutputBuffer()
            headers.encode(into: output)
            #expect(String(decoding: output.span.array, as: UTF8.self).hasPrefix("X-Fit: "))
        }
    }

    @Test func `a call with an invalid field fails before it is sent`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let address = Origin(scheme: .http, host: "127.0.0.1", port: UInt16(origin.port))
        let request = Request(origin: address, target: "/", headers: ["X-User": "a\r\nX-Evil: 1"])
        let transport = try PooledTransport()
        let channel = NetworkChannel(transport: transport)
        let manager = NetworkManager<PathEndpoint>(channel)
        await #expect(throws: NetworkError.self) { try await manager.perform(request) }
        var context = RequestContext(requestID: "1")
        await #expect(throws: NetworkError.self) {
            try await transport.send(request, context: &context)
        }
        #expect(origin.requests.isEmpty)
    }

    @Test(arguments: values.indices)
    func `arbitrary text in the parts of a request never traps`(index: Int) throws {
        let text = Self.values[index]
        _ = try Self.refusal { try RequestBuilder(BaseURL(text)).path(text).build() }
        _ = try Self.refusal { try Self.base.path(text).query([text: text]).build() }
        _ = try Self.refusal { try Self.base.host(text, port: 0).basePath(text).build() }
        _ = try Self.refusal { try Self.base.header(text, text).build() }
        _ = try Self.refusal { try Self.base.task(.form([text: text])).build() }
        _ = try Self.refusal {
            try Self.base.task(.data(Data(text.utf8), contentType: text)).build()
        }
        _ = try Self.refusal { try Self.base.task(.file(path: text, contentType: text)).build() }
        _ = HTTPMethod(rawValue: text)
        _ = HTTPStatus(rawValue: text.utf8.count)
    }

    @Test(arguments: [Int.min, -1, 0, 99, 100, 999, 1000, .max])
    func `a status literal is always a valid status`(code: Int) {
        #expect((100...999).contains(HTTPStatus(integerLiteral: code).rawValue))
    }
}
