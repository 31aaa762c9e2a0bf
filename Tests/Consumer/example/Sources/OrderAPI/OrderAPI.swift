import Foundation
import NetworkCore

public struct Order: Codable, Sendable, Hashable {
    public var id: Int
    public var item: String
    public init(id: Int, item: String) { (self.id, self.item) = (id, item) }
}

public struct Account: Codable, Sendable, Hashable {
    public var client: String
}

public enum OrderEndpoint: Endpoint {
    case list(page: Int)
    case store(Order)
    case account
    case news

    public var baseURL: BaseURL {
        BaseURL(ProcessInfo.processInfo.environment["SHOP_URL"] ?? "https://shop.example")
    }
    public var path: String {
        switch self {
        case .list: "/files/orders.json"
        case .store(let order): "/dav/orders/\(segment: order.id).json"
        case .account: "/api/account"
        case .news: "/api/drip"
        }
    }
    public var method: HTTPMethod { if case .store = self { .put } else { .get } }
    public var task: HTTPTask {
        switch self {
        case .list(let page): .query(["page": "\(page)"] as QueryItems)
        case .store(let order): .json(order)
        case .account, .news: .plain
        }
    }
    public var authorization: AuthorizationRequirement {
        switch self {
        case .account, .news: .required
        case .list, .store: .none
        }
    }
    public var sampleData: Data { Data(#"[{"id":1,"item":"lamp"}]"#.utf8) }
}

public struct OrderAPI: Networker {
    public let networkManager: NetworkManager<OrderEndpoint>
    public init(_ manager: NetworkManager<OrderEndpoint>) { networkManager = manager }

    public func orders(page: Int = 1) async throws(NetworkError) -> [Order] {
        try await request(.list(page: page))
    }
    public func store(_ order: Order) async throws(NetworkError) {
        try await networkManager.send(.store(order))
    }
    public func account() async throws(NetworkError) -> Account { try await request(.account) }
}
