import NetproxyBytes
import NetproxyHTTPMessage
import Testing

@Suite struct HTTPHeadersTests {
    private func encoded(_ headers: HTTPHeaders, omitting omitted: KnownFieldSet = []) -> String {
        let output = OutputBuffer()
        headers.encode(into: output, omitting: omitted)
        return String(decoding: output.span.array, as: UTF8.self)
    }

    /// Returns a section over a head with a verbatim line, a line without a space, and another verbatim line.
    private func parsed() -> HTTPHeaders {
        let head = Array("GET\r\nA: 1\r\nHost:b\r\nC: 3\r\n\r\n".utf8)
        var headers = HTTPHeaders(head: head.span, spare: 100)
        #expect(headers.append(name: 5..<6, value: 8..<9, .verbatim) == nil)
        #expect(headers.append(name: 11..<15, value: 16..<17, .loose) == .host)
        #expect(headers.append(name: 19..<20, value: 22..<23, .verbatim) == nil)
        return headers
    }

    @Test func `lines are encoded in order and in one form`() {
        #expect(encoded(parsed()) == "A: 1\r\nHost: b\r\nC: 3\r\n")
    }

    @Test func `removed, replaced and added lines are encoded`() throws {
        var headers = parsed()
        headers.remove("a")
        headers.set(try #require(HTTPField(.host, "x")))
        headers.append(try #require(HTTPField("D", "")))
        #expect(encoded(headers) == "C: 3\r\nHost: x\r\nD: \r\n")
        #expect(headers["c"] == "3")
        #expect(headers["d"]?.isEmpty == true)
    }

    @Test(arguments: [
        ("Authorization", true), ("Proxy-Authorization", true), ("cookie", true),
        ("Set-Cookie", true), ("DPoP", true), ("X-Other", false), ("X-Api-Key", true),
        ("x_api_key", true), ("Apikey", true), ("X_Other", false),
    ])
    func `the description of a field hides credentials`(name: String, isHidden: Bool) throws {
        let known = try #require(HTTPFieldName(name))
        let field = try #require(HTTPField(known, "s3cret"))
        #expect("\(field)" == "\(name): \(isHidden ? "<redacted>" : "s3cret")")
        var dumped = ""
        dump(field, to: &dumped)
        #expect(dumped.contains("s3cret") != isHidden)
    }

    @Test func `an attached field behaves like the others`() throws {
        var headers = parsed()
        let (token, key): (HTTPHeaders, HTTPHeaders) = (["Authorization": "t"], ["X-Key": "k"])
        headers.attach(token)
        headers.append(try #require(HTTPField("D", "4")))
        #expect(encoded(headers) == "A: 1\r\nHost: b\r\nC: 3\r\nAuthorization: t\r\nD: 4\r\n")
        let rest = encoded(headers, omitting: KnownFieldSet(.authorization))
        #expect(rest == encoded(parsed()) + "D: 4\r\n")
        #expect(headers[.authorization] == "t")
        #expect(headers.values(of: .authorization) == ["t"])
        #expect(headers.map(\.value) == ["1", "b", "3", "t", "4"])
        var values: [String] = []
        headers.forEachValue(of: .authorization) { values.append($0.string(in: 0..<$0.count)) }
        #expect(values == ["t"])
        // If one section is already attached, the next one is copied.
        headers.attach(key)
        #expect(headers["x-key"] == "k")
        #expect(headers[.authorization] == "t")
        // Fields that are added to another section include the attached ones.
        var other: HTTPHeaders = ["E": "5"]
        other.append(headers)
        #expect(
            other == [
                "E": "5", "A": "1", "Host": "b", "C": "3", "Authorization": "t", "D": "4",
                "X-Key": "k",
            ]
        )
    }

    @Test func `lines in other forms are copied, not attached`() {
        var headers: HTTPHeaders = ["E": "5"]
        headers.attach(parsed())
        #expect(encoded(headers) == "E: 5\r\nA: 1\r\nHost: b\r\nC: 3\r\n")
    }

    @Test func `an attached field can be removed and replaced`() {
        let tokens: [HTTPHeaders] = [["Authorization": "one"], ["Authorization": "two"]]
        var headers = parsed()
        headers.attach(tokens[0])
        let sent = headers
        headers.remove(HTTPFieldName.authorization)
        #expect(encoded(headers) == encoded(parsed()))
        headers.attach(tokens[1])
        #expect(headers.values(of: .authorization) == ["two"])
        headers.remove("A" as HTTPFieldName)
        headers.remove(["C"] as Set<HTTPFieldName>)
        #expect(headers == ["Host": "b", "Authorization": "two"])
        #expect(sent.values(of: .authorization) == ["one"])
        var keyed: HTTPHeaders = [:]
        keyed.attach(["X-Key": "k"])
        #expect(keyed["x-key"] == "k")
        keyed.remove("X-Key")
        #expect(keyed.isEmpty)
        #expect(tokens[0] == ["Authorization": "one"])
    }

    @Test func `omitted lines are not encoded but stay in the section`() {
        let headers = parsed()
        #expect(encoded(headers, omitting: KnownFieldSet(.host, .via)) == "A: 1\r\nC: 3\r\n")
        #expect(headers.contains(HTTPFieldName.host))
    }

    @Test func `a set of fields is removed in one step`() {
        var headers: HTTPHeaders = ["Via": "1", "X": "2", "via": "3", "Host": "4"]
        headers.remove(KnownFieldSet(.via, .age))
        #expect(headers == ["x": "2", "host": "4"])
        #expect(!headers.contains(KnownField.via))
        #expect(headers.knownFields == KnownFieldSet(.host))
    }

    @Test func `a copy does not change with the original`() {
        let first = parsed()
        var second = first
        second.remove(HTTPFieldName.host)
        #expect(first.contains(HTTPFieldName.host))
        #expect(!second.contains(HTTPFieldName.host))
    }

    @Test(arguments: ["a\r\nb", "a\nb", "a\0", "\u{7F}", " a", "a\t", "\u{1B}"])
    func `an invalid value does not create a field`(_ value: String) {
        #expect(HTTPField("X", value) == nil)
    }

    @Test func `a name may have at most 65,535 bytes`() throws {
        let text = String(repeating: "a", count: 65_535)
        #expect(HTTPFieldName(text + "a") == nil)
        let name = try #require(HTTPFieldName(text))
        var headers: HTTPHeaders = ["X": "1"]
        headers.append(try #require(HTTPField(name, "2")))
        #expect(headers[name] == "2")
        #expect(encoded(headers) == "X: 1\r\n\(text): 2\r\n")
    }

    @Test func `the description of a section hides credentials`() {
        let headers: HTTPHeaders = ["Authorization": "Bearer s3cret", "X": "1"]
        #expect(headers.description == "Authorization: <redacted>\nX: 1")
    }
}
