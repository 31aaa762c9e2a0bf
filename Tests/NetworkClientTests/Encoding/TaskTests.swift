import Foundation
import NetworkClient
import TestSupport
import Testing

@Suite struct TaskTests {
    private struct Filter: Encodable {
        var pageSize = 2
        var isOpen = true
        var tags = ["a", "b"]
        var since = Date(timeIntervalSince1970: 1.5)
        var missing: String?
    }

    private func request(_ task: HTTPTask, _ method: HTTPMethod = .post) throws -> Request {
        try RequestBuilder("https://a.example").path("/x").method(method).task(task).build()
    }

    @Test func `a plain request has no content`() throws {
        let request = try request(.plain)
        #expect(request.body.length == 0)
        #expect(!request.headers.contains(HTTPFieldName.contentType))
    }

    @Test func `a query is encoded from a value`() throws {
        let request = try request(.query(Filter()), .get)
        #expect(
            request.target
                == "/x?pageSize=2&isOpen=true&tags=a&tags=b&since=1970-01-01T00%3A00%3A01Z"
        )
    }

    @Test func `a request may have a JSON body and a query`() throws {
        let request = try request(.jsonAndQuery([1], query: ["a": "b c"] as QueryItems))
        #expect(request.target == "/x?a=b%20c")
        #expect(request.text == "[1]")
    }

    @Test(arguments: [HTTPMethod.get, .head, .delete])
    func `parameters of reading methods go into the query`(_ method: HTTPMethod) throws {
        let request = try request(.parameters(["a": "1"]), method)
        #expect(request.target == "/x?a=1")
        #expect(request.body.length == 0)
    }

    @Test(arguments: [HTTPMethod.post, .put, .patch])
    func `parameters of writing methods become a JSON body`(_ method: HTTPMethod) throws {
        let request = try request(.parameters(["a": "1"]), method)
        #expect(request.target == "/x")
        #expect(request.text == #"{"a":"1"}"#)
    }

    @Test func `a form has a content type, and a plus for a space`() throws {
        let request = try request(.form(["a b": "c&d", "e": "ü"]))
        #expect(request.text == "a+b=c%26d&e=%C3%BC")
        #expect(request.headers[.contentType] == "application/x-www-form-urlencoded")
    }

    @Test func `a content type set by the caller is kept`() throws {
        let request = try RequestBuilder("https://a.example").json([1])
            .header("Content-Type", "application/vnd.api+json").build()
        #expect(request.headers.values(of: .contentType) == ["application/vnd.api+json"])
    }

    @Test func `bytes are sent unchanged`() throws {
        let request = try request(.data(Data([0, 255]), contentType: "image/png"))
        guard case .bytes(let bytes) = request.body else { return #expect(Bool(false)) }
        #expect(bytes.array == [0, 255])
        #expect(request.headers[.contentType] == "image/png")
    }

    @Test func `a stream is passed on with its length`() throws {
        let request = try request(
            .stream(PiecedBody(["ab"]), length: 2, contentType: "text/plain")
        )
        #expect(request.body.length == 2)
        #expect(!request.body.isInMemory)
    }

    @Test(arguments: [10, 200_000])
    func `a file of any length is sent completely`(size: Int) async throws {
        let file = try ScratchFile(String(repeating: "x", count: size))
        let request = try request(.file(path: file.path, contentType: "text/plain"))
        #expect(request.body.length == size)
        #expect(request.body.isInMemory == (size == 10))
        #expect(try await request.body.collect(upTo: size).count == size)
    }

    @Test func `the error of a missing file contains its name`() {
        let error = #expect(throws: NetworkError.self) {
            try request(.file(path: "/nowhere/at/all", contentType: "text/plain"))
        }
        #expect(error?.detail.contains("/nowhere/at/all") == true)
    }

    @Test(arguments: ["/dev/null", "/dev", "/dev/full"])
    func `a device or directory is not sent as an empty file`(path: String) {
        for task in [
            HTTPTask.file(path: path, contentType: "text/plain"),
            .multipart(MultipartForm([.init("f", .file(path: path))])),
        ] {
            let error = #expect(throws: NetworkError.self) { try request(task) }
            #expect(error?.kind == .httpRequestError)
            #expect(error?.detail.contains(path) == true)
        }
    }

    @Test func `a value that cannot be encoded is an error, not a trap`() {
        for task in [
            HTTPTask.json(["a": Double.nan]), .query(["a": Double.infinity]), .query(3), .form([1]),
            .query("text"),
        ] {
            let error = #expect(throws: NetworkError.self) { try request(task) }
            #expect(error?.kind == .httpRequestError)
            #expect(error?.underlying is EncodingError)
        }
    }
}

@Suite struct URLFormEncoderTests {
    private struct Nested: Encodable {
        struct Inner: Encodable {
            var minPrice = 1.5
            var urlPath = true
        }
        var filterBy = Inner()
        var list = [1, 2]
        var date = Date(timeIntervalSince1970: 1_700_000_000)
    }

    @Test func `each style encodes as documented`() throws {
        let value = Nested()
        #expect(
            try URLFormEncoder().items(value).items.map { "\($0.name)=\($0.value ?? "")" } == [
                "filterBy[minPrice]=1.5", "filterBy[urlPath]=true", "list=1", "list=2",
                "date=2023-11-14T22:13:20Z",
            ]
        )
        let other = URLFormEncoder(
            lists: .brackets,
            bools: .digits,
            dates: .milliseconds,
            keys: .snakeCase,
            nesting: .dots
        )
        #expect(
            try other.items(value).items.map { "\($0.name)=\($0.value ?? "")" } == [
                "filter_by.min_price=1.5", "filter_by.url_path=1", "list[]=1", "list[]=2",
                "date=1700000000000",
            ]
        )
        let third = URLFormEncoder(lists: .indices, dates: .seconds, keys: .kebabCase)
        #expect(
            try third.items(value).items.map { "\($0.name)=\($0.value ?? "")" } == [
                "filter-by[min-price]=1.5", "filter-by[url-path]=true", "list[0]=1", "list[1]=2",
                "date=1700000000",
            ]
        )
        #expect(try URLFormEncoder(lists: .commas).query(["a": [1, 2]]) == "a=1%2C2")
    }

    @Test func `dictionaries are sorted by key`() throws {
        let value: [String: Int?] = ["c": 3, "a": 1, "b": nil]
        #expect(try URLFormEncoder().query(value) == "a=1&c=3")
    }

    @Test func `nil is omitted from a list in every style`() throws {
        let value: [String: [String?]] = ["a": ["x", nil, "y"], "b": [nil], "c": []]
        let queries = try URLFormEncoder.Lists.allCases.map {
            try URLFormEncoder(lists: $0).query(value)
        }
        #expect(
            queries == ["a=x&a=y", "a%5B%5D=x&a%5B%5D=y", "a%5B0%5D=x&a%5B1%5D=y", "a=x%2Cy"]
        )
    }

    @Test func `a comma that would act as a separator is refused`() {
        #expect(throws: EncodingError.self) {
            try URLFormEncoder(lists: .commas).query(["a": ["x,y", "z"]])
        }
    }

    @Test func `a list of lists with commas is refused`() {
        #expect(throws: EncodingError.self) {
            try URLFormEncoder(lists: .commas).query(["a": [[1], [2]]])
        }
    }

    @Test func `consecutive capitals are one word`() throws {
        let snake = URLFormEncoder(keys: .snakeCase)
        #expect(
            try snake.query(["apiURLPath": 1, "ID": 2, "already_so": 3])
                == "id=2&already_so=3&api_url_path=1"
        )
    }
}

@Suite struct MultipartTests {
    private static let form = MultipartForm(
        [
            .init("title", .data(Data("Ü".utf8))),
            .init(
                "file",
                .data(Data("x".utf8)),
                filename: "a\"\r\nb.txt",
                contentType: "text/plain"
            ),
        ],
        boundary: "b"
    )

    @Test func `a form in memory has the format of RFC 7578`() async throws {
        let body = try Self.form.body()
        let text = String(decoding: try await body.collect(upTo: 1000).array, as: UTF8.self)
        #expect(
            text
                == [
                    "--b", #"Content-Disposition: form-data; name="title""#, "", "Ü",
                    "--b",
                    #"Content-Disposition: form-data; name="file"; filename="a%22%0D%0Ab.txt""#,
                    "Content-Type: text/plain", "", "x", "--b--", "",
                ].joined(separator: "\r\n")
        )
        #expect(body.isInMemory)
    }

    @Test func `a combining mark does not hide the end of a name`() async throws {
        let form = MultipartForm(
            [.init("a\"\u{301}", .data(Data()), filename: "b\"\u{301}; c=\"")],
            boundary: "b"
        )
        let text = String(decoding: try await form.body().collect(upTo: 1000).array, as: UTF8.self)
        #expect(text.contains("; name=\"a%22\u{301}\"; filename=\"b%22\u{301}; c=%22\"\r\n"))
    }

    @Test func `a form with files is streamed with its length`() async throws {
        let file = try ScratchFile(String(repeating: "y", count: 100_000))
        var form = MultipartForm()
        form.append("a", text: "1")
        form.append("f", file: file.path)
        form.append("d", data: Data([1]))
        let body = try form.body()
        let bytes = try await body.collect(upTo: 1 << 20)
        #expect(body.length == bytes.count)
        let text = String(decoding: bytes.array, as: UTF8.self)
        #expect(
            text.contains("filename=\"\(file.name)\"\r\nContent-Type: application/octet-stream")
        )
        #expect(text.hasSuffix("\r\n--\(form.boundary)--\r\n"))
    }

    @Test func `a short form can be sent again, even with files`() async throws {
        let file = try ScratchFile("short")
        var form = MultipartForm(boundary: "b")
        form.append("f", file: file.path, filename: "n", contentType: nil)
        let body = try form.body()
        #expect(body.isInMemory)
        let text = String(decoding: try await body.collect(upTo: 1000).array, as: UTF8.self)
        #expect(text.hasSuffix("; filename=\"n\"\r\n\r\nshort\r\n--b--\r\n"))
    }

    @Test func `the boundary is the same in every attempt`() throws {
        let form = MultipartForm([.init("a", .data(Data()))])
        let builder = RequestBuilder("https://a.example").task(.multipart(form))
        #expect(try builder.build().text == builder.build().text)
        #expect(try builder.build().headers[.contentType] == form.contentType)
        #expect(form.boundary != MultipartForm().boundary)
    }

    @Test(arguments: ["", "a b", "a\"", String(repeating: "x", count: 71), "ä"])
    func `a boundary that does not fit the field is refused`(boundary: String) {
        #expect(throws: NetworkError.self) { try MultipartForm([], boundary: boundary).body() }
    }

    @Test func `a request may have a form and a query`() throws {
        let request = try RequestBuilder("https://a.example")
            .task(.multipartAndQuery(Self.form, query: ["a": "1"] as QueryItems)).build()
        #expect(request.target == "/?a=1")
        #expect(request.headers[.contentType] == #"multipart/form-data; boundary="b""#)
    }
}

/// A file for one test, in the temporary directory.
final class ScratchFile: Sendable {
    let name = "netproxy-test-\(UUID().uuidString)"
    var path: String { FileManager.default.temporaryDirectory.appending(path: name).path() }

    init(_ content: String) throws {
        try Data(content.utf8).write(to: URL(filePath: path))
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
