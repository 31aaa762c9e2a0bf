import Foundation
import NetworkSession
import NetworkTesting
import Synchronization
import Testing

private struct City: Decodable { var name: String }

private struct CityRequest: RequestProtocol {
    var host: String { "cities.test" }
    var path: String { "/v1/city" }
    var urlParams: [String: String?] { ["q": "Ulm"] }
    var params: [String: Any] { ["deep": ["a": 1]] }
    var addAuthorizationToken = true
    var requestType: RequestType { .POST }
}

private struct ListRequest: RequestProtocol {
    var host: String { "cities.test" }
    var path: String { "/v1/cities" }
    var requestType: RequestType { .GET }
}

/// The mock of a test, with the signature of the document.
private struct APIManagerMock: APIManagerProtocol {
    let answer: Result<String, any Error>

    func perform(_ request: RequestProtocol, authToken: String?) async throws -> Data {
        Data("\(try answer.get())".utf8)
    }
}

private struct Offline: Error {}

@Suite struct NetworkSessionTests {
    private let stub = StubTransport { _ in .json(#"{"name":"Ulm"}"#) }
    private var manager: RequestManager { RequestManager(apiManager: APIManager(urlSession: stub)) }

    @Test func `a request has its query, its JSON body and its type`() async throws {
        let city: City = try await manager.perform(CityRequest(), authToken: "t")
        #expect(city.name == "Ulm")
        let sent = try #require(stub.requests.first)
        #expect(sent.request.url?.absoluteString == "https://cities.test/v1/city?q=Ulm")
        #expect(sent.request.method == .post)
        #expect(sent.text == #"{"deep":{"a":1}}"#)
        #expect(sent.request.headers[.contentType] == "application/json")
    }

    @Test func `the token is sent only if the request wants it`() async throws {
        let _: City = try await manager.perform(CityRequest(), authToken: "t")
        let _: City = try await manager.perform(
            CityRequest(addAuthorizationToken: false),
            authToken: "t"
        )
        #expect(stub.requests.map(\.authorization) == ["t", nil])
    }

    @Test func `a request without parameters has no body, but the JSON type`() async throws {
        let _: City = try await manager.perform(ListRequest())
        let sent = try #require(stub.requests.first)
        #expect(sent.content.isEmpty && sent.request.target == "/v1/cities")
        #expect(sent.request.headers[.contentType] == "application/json")
    }

    @Test(arguments: [201, 404, 500])
    func `only 200 is a success, and the server's description is the error`(_ status: Int)
        async throws
    {
        let status = try #require(HTTPStatus(rawValue: status))
        stub.answer(.get, "/v1/cities", with: .json(#"{"message":"no"}"#, status: status))
        do {
            let _: City = try await manager.perform(ListRequest())
            Issue.record("\(status) is a success")
        } catch NetworkError.ServerError(let details) {
            #expect(details.message == "no")
        }
    }

    @Test func `an error status without a description is an invalid response`() async {
        stub.answer(.get, "/v1/cities", with: .status(500))
        do {
            let _: City = try await manager.perform(ListRequest())
            Issue.record("500 is a success")
        } catch NetworkError.invalidServerResponse {
            // As promised.
        } catch {
            Issue.record("\(error)")
        }
    }

    @Test func `errors of the connection and of the decoder are rethrown`() async {
        let fault = NetworkClient.NetworkError(.connectionRefused, side: .upstream, detail: "no")
        stub.answer(.get, "/v1/cities", with: .failure(fault))
        let error = await #expect(throws: NetworkClient.NetworkError.self) {
            let _: City = try await manager.perform(ListRequest())
        }
        #expect(error?.kind == .connectionRefused)
        stub.answer(.get, "/v1/cities", with: .json("[]"))
        await #expect(throws: DecodingError.self) {
            let _: City = try await manager.perform(ListRequest())
        }
    }

    @Test func `a mock of the API manager needs no transport`() async throws {
        let manager = RequestManager(apiManager: APIManagerMock(answer: .success(#"{"name":"A"}"#)))
        let city: City = try await manager.perform(CityRequest(), authToken: nil)
        #expect(city.name == "A")
        let offline = RequestManager(apiManager: APIManagerMock(answer: .failure(Offline())))
        await #expect(throws: Offline.self) {
            let _: City = try await offline.perform(CityRequest())
        }
        let invalid = NetworkError.invalidServerResponse
        let refused = RequestManager(apiManager: APIManagerMock(answer: .failure(invalid)))
        await #expect(throws: NetworkError.self) {
            let _: City = try await refused.perform(CityRequest())
        }
    }

    @Test func `requests without a decoder use the default decoder`() {
        let before = defaultDecoder
        defer { defaultDecoder = before }
        let own = JSONDecoder()
        defaultDecoder = own
        #expect(ListRequest().decoder === own)
    }
}
