import Foundation
import MTNetwork
import NetworkTesting
import Testing

private struct User: Codable { var name: String }

private enum PhotoRequest: CaseIterable {
    case plain, json, query, jsonAndQuery, form, formAndQuery
}

extension PhotoRequest: Requestable {
    var baseURL: URL { URL(string: "https://photos.test/v1") ?? URL(fileURLWithPath: "/") }
    var path: String { "/photos" }
    var method: MTNetwork.HTTPMethod { self == .plain || self == .query ? .get : .post }
    var task: MTNetwork.HTTPTask {
        let parts = [MultipartFormData("note", .data(Data("hi".utf8)))]
        return switch self {
        case .plain: .requestPlain
        case .json: .requestJSONEncodable(User(name: "a"))
        case .query: .requestParameters(["order_by": "popular", "page": 2])
        case .jsonAndQuery: .requestCompositeParameters(body: User(name: "a"), query: ["id": "x"])
        case .form: .uploadMultipart(parts)
        case .formAndQuery: .uploadCompositeMultipart(parts, query: ["id": "x"])
        }
    }
    var headers: MTNetwork.HTTPHeaders {
        HTTPHeaders([
            HTTPHeader.authorization("Client-ID key"), HTTPHeader(name: "X-Page", value: "2"),
        ])
    }
    var requestTimeout: Float { 20 }
    var sampleData: Data? { Data() }
}

@Suite struct MTNetworkTests {
    private let stub = StubTransport { _ in .json(#"{"name":"a"}"#) }

    private func sent(_ request: PhotoRequest) async throws -> StubbedRequest {
        _ = try await Provider<PhotoRequest>(NetworkChannel(transport: stub)).request(request)
        return try #require(stub.requests.last)
    }

    @Test func `the six tasks fill the query and the body`() async throws {
        #expect(try await sent(.plain).request.target == "/v1/photos")
        #expect(try await sent(.query).request.target == "/v1/photos?order_by=popular&page=2")
        #expect(try await sent(.json).text == #"{"name":"a"}"#)
        let both = try await sent(.jsonAndQuery)
        #expect(both.text == #"{"name":"a"}"# && both.query == "id=x")
        let form = try await sent(.form)
        #expect(form.text.contains("name=\"note\"\r\n\r\nhi\r\n") && form.query == nil)
        let formAndQuery = try await sent(.formAndQuery)
        #expect(formAndQuery.text.contains("hi") && formAndQuery.query == "id=x")
    }

    @Test func `fields are made from a name and a value`() async throws {
        let fields = try await sent(.plain).request.headers
        #expect(fields[.authorization] == "Client-ID key")
        #expect(fields["X-Page"] == "2")
        #expect(fields.dictionary["x-page"] == "2")
        let header = HTTPHeader(name: "Bad Name", value: "x")
        let error = #expect(throws: MTError.self) {
            try RequestBuilder("https://photos.test").headers(HTTPHeaders([header])).build()
        }
        #expect(error?.kind == .httpRequestError)
    }

    @Test func `a response has its status, fields, data and description`() async throws {
        stub.answer(
            .get,
            "/v1/photos",
            with: .data(Data("{}".utf8), status: 201, headers: ["X-Rate": "1", "x-rate": "2"])
        )
        let provider = Provider<PhotoRequest>(NetworkChannel(transport: stub))
        let response = try await provider.request(.plain)
        let http: HTTPURLResponse? = response.response
        #expect(response.statusCode == 201 && http?.statusCode == 201)
        #expect(http?.allHeaderFields["X-Rate"] == "1, 2")
        #expect(http?.value(forHTTPHeaderField: "x-RATE") == "1, 2")
        #expect(http?.value(forHTTPHeaderField: "X-None") == nil)
        #expect(response.description == "Status Code: 201, Data Length: 2")
    }

    @Test(arguments: [199, 304, 404, 500])
    func `another status than 2xx is an error with the response`(_ status: Int) async throws {
        let status = try #require(HTTPStatus(rawValue: status))
        stub.answer(.get, "/v1/photos", with: .json(#"{"name":"no"}"#, status: status))
        let error = await #expect(throws: MTError.self) { try await sent(.plain) }
        #expect(error?.status == status)
        #expect(try error?.decode(User.self).name == "no")
    }

    @Test func `a request is converted to the form in which it is sent`() throws {
        let request = try EndPoint(PhotoRequest.query).urlRequest()
        #expect("\(request.origin)" == "https://photos.test")
        #expect(request.target == "/v1/photos?order_by=popular&page=2")
        #expect(EndPoint(PhotoRequest.plain).timeout == .seconds(20))
    }
}
