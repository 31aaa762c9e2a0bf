import Foundation
import NetworkClient
import NetworkTesting
import OriginTransport
import TestSupport
import Testing

/// Tests of the second spelling of frequent calls.
@Suite struct SpellingTests {
    private let stub = StubTransport { _ in .json("[1]") }
    private var manager: NetworkManager<PathEndpoint> { NetworkManager(.stubbed(stub)) }

    @Test func `a URL replaces the request for it`() async throws {
        let text = "https://a.test/x?y=1"
        let url = try #require(URL(string: text))
        #expect(try await manager.request(text, as: [Int].self) == [1])
        #expect(try await manager.request(url, as: [Int].self) == [1])
        #expect(try Request(text).target == Request(url).target)
        let file = try ScratchFile("")
        #expect(try await manager.download(url, to: file.path).length == 3)
        #expect(try await manager.download(text, to: file.path).length == 3)
        let place = URL(fileURLWithPath: file.path)
        #expect(try await manager.download(try Request(url), to: place).length == 3)
        #expect(stub.requests.allSatisfy { $0.request.target == "/x?y=1" })
    }

    @Test(
        arguments: [
            ("https://a.test/ä", "ä"), ("https://a.test/a b", " "),
            ("ftp://a.test/x", "ftp://a.test"),
        ]
    )
    func `the error of a URL names the character or the form`(url: String, part: String) {
        let error = #expect(throws: NetworkError.self) { try Request(url) }
        #expect(error?.detail.contains(part) == true)
    }

    @Test func `a field is set and removed by its name`() {
        var headers: HTTPHeaders = ["A": "1", "B": "2", "a": "3"]
        headers["A"] = "4"
        headers["B"] = nil
        headers["C"] = "5"
        #expect(headers == ["A": "4", "C": "5"])
        headers["D"] = "a\r\nb"
        #expect(throws: NetworkError.self) { try headers.checkFitness() }
    }

    @Test func `statuses are compared by their code`() {
        let status: HTTPStatus = 404
        #expect(status.code == 404 && status >= 400 && status < 500 && !status.isSuccess)
        #expect(HTTPStatus(integerLiteral: 204).isSuccess)
    }

    @Test func `a form takes texts and file URLs`() throws {
        let file = try ScratchFile("content")
        var form = MultipartForm()
        form.append("note", "hello")
        form.append("file", file: URL(fileURLWithPath: file.path))
        #expect(form.parts.map(\.name) == ["note", "file"])
        #expect(form.parts[1].filename == file.path.split(separator: "/").last.map(String.init))
    }

    @Test func `a stream is a sequence of pieces`() async throws {
        var data = Data()
        for try await piece in try await manager.stream(try Request("https://a.test/")) {
            data += piece.data
        }
        #expect(data == Data("[1]".utf8))
    }

    @Test func `a stub responds with the JSON of a value`() async throws {
        stub.answer(.get, "/order", with: .json(encoding: Order(id: 1, name: "a"), status: 201))
        let response = try await manager.perform(try Request("https://a.test/order"))
        #expect(response.status == 201)
        #expect(try response.decode(Order.self) == Order(id: 1, name: "a"))
    }

    @Test func `another host is connected to under the name of the origin`() async throws {
        let origin = try await OriginServer.start { Raw.ok($0["Host"] ?? "none") }
        var options = UpstreamOptions(connections: 1)
        options.hostOverrides = ["API.test": "127.0.0.1"]
        let manager = NetworkManager<PathEndpoint>(
            NetworkChannel(transport: try PooledTransport(options: options))
        )
        let request = try Request("http://api.test:\(origin.port)/")
        #expect(try await manager.perform(request).text == "api.test:\(origin.port)")
    }
}
