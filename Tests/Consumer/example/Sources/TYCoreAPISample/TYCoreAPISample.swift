// swift-format-ignore-file
// The lines of a document stay as they are written there.
import Foundation
import TYCoreAPI

// What the document leaves to its reader.

public enum Constant {
    public nonisolated(unsafe) static var host = ""
    static let loggerSubSystem = "com.example.dolap"
    static let loggerCategory = "network"
}

public enum APIURL {
    public enum DolapLite {
        public enum root { public nonisolated(unsafe) static var baseURL = "" }
    }
}

public nonisolated struct DLOrderListResponse: Decodable, Sendable { public var target: String }

struct DLAuthRequestInterceptor: RequestInterceptor {
    func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        var request = request
        request.headers.set(.bearer(Secret("channel")))
        return try await next.send(request, context: &context)
    }
}

protocol DLOrderListInteractorInterface { func fetchOrderList(path: String) }

protocol DLOrderListInteractorOutput: AnyObject {
    func handleOrderListResponse(_ result: Result<DLOrderListResponse, APIClientError>)
}

// The samples, line by line; `differs:` follows what is not the document's.

// sample
open class DLNetworker<T: Endpoint>: Networker {
    public typealias EndpointType = T

    public var networkManager: NetworkManager<T>

    public init() {
        networkManager = NetworkManager(host: Constant.host, networkLogger: CoreNetworkLogger(subsystem: Constant.loggerSubSystem, category: Constant.loggerCategory), interceptor: DLAuthRequestInterceptor())
    }
}
class DLOrderListInteractor: DLNetworker<DLOrderEndpointItem>, DLOrderListInteractorInterface {
    weak var output: DLOrderListInteractorOutput?

    func fetchOrderList(path: String) {
        networkManager.request(endpoint: .orderList(path: path), type: DLOrderListResponse.self) { [weak self] result in
            self?.output?.handleOrderListResponse(result)
        }
    }
}
enum DLOrderEndpointItem: Endpoint {
    case orderList(path: String)

    var path: String { switch self { case .orderList(let path): return "/order?\(path)" } }  // differs: the document's line calls itself without end
    var method: HTTPMethod { .get }
    var baseUrl: String { APIURL.DolapLite.root.baseURL }
}
// end

// The proof.

private final class Output: DLOrderListInteractorOutput {
    private let continuation: CheckedContinuation<Result<DLOrderListResponse, APIClientError>, Never>

    init(_ continuation: CheckedContinuation<Result<DLOrderListResponse, APIClientError>, Never>) {
        self.continuation = continuation
    }

    func handleOrderListResponse(_ result: Result<DLOrderListResponse, APIClientError>) {
        continuation.resume(returning: result)
    }
}

/// The target that the interactor's request had.
public func ordersTarget(_ path: String) async throws -> String {
    let interactor = DLOrderListInteractor()
    var output: Output?
    let result = await withCheckedContinuation { continuation in
        output = Output(continuation)
        interactor.output = output
        interactor.fetchOrderList(path: path)
    }
    _ = output
    return try result.get().target
}
