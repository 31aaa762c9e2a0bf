import Foundation
import NetworkClient

package struct Order: Codable, Sendable, Hashable {
    package var id: Int
    package var item: String
    package init(id: Int, item: String) { (self.id, self.item) = (id, item) }
}

package struct Account: Codable, Sendable, Hashable {
    package var client: String
}

package enum OrderEndpoint: Endpoint {
    case list(page: Int)
    case store(Order)
    case account
    case news

    package var baseURL: BaseURL {
        BaseURL(ProcessInfo.processInfo.environment["SHOP_URL"] ?? "https://shop.example")
    }
    package var path: String {
        switch self {
        case .list: "/files/orders.json"
        case .store(let order): "/dav/orders/\(segment: order.id).json"
        case .account: "/api/account"
        case .news: "/api/drip"
        }
    }
    package var method: HTTPMethod { if case .store = self { .put } else { .get } }
    package var task: HTTPTask {
        switch self {
        case .list(let page): .query(["page": "\(page)"] as QueryItems)
        case .store(let order): .json(order)
        case .account, .news: .plain
        }
    }
    package var authorization: AuthorizationRequirement {
        switch self {
        case .account, .news: .required
        case .list, .store: .never
        }
    }
    package var sampleData: Data { Data(#"[{"id":1,"item":"lamp"}]"#.utf8) }
}

package struct OrderAPI: Networker {
    package var networkManager: NetworkManager<OrderEndpoint>
    package init(_ manager: NetworkManager<OrderEndpoint>) { networkManager = manager }

    package func orders(page: Int = 1) async throws(NetworkError) -> [Order] {
        try await request(.list(page: page))
    }
    package func store(_ order: Order) async throws(NetworkError) {
        try await networkManager.send(.store(order))
    }
    package func account() async throws(NetworkError) -> Account { try await request(.account) }
}
