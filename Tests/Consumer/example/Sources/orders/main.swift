import Foundation
import NetworkClient
import OrderAPI

// The example against real servers: nginx with a private authority, and an OAuth 2.0 server.
// Everything it needs is in the environment; it prints a line for each step and exits 1 at the first
// that does not do what it says.

struct Disappointment: Error { let step: String }

func check(_ condition: Bool, _ step: String) throws {
    guard condition else { throw Disappointment(step: step) }
    print("ok \(step)")
}

func setting(_ name: String) throws -> String {
    guard let value = ProcessInfo.processInfo.environment[name] else {
        throw Disappointment(step: "\(name) is not set")
    }
    return value
}

let shop = BaseURL(try setting("SHOP_URL"))
let tokens = BaseURL(try setting("TOKEN_URL"))
guard let shopOrigin = shop.origin, let tokenOrigin = tokens.origin else {
    throw Disappointment(step: "SHOP_URL and TOKEN_URL are base URLs")
}
let trust = TrustPolicy.authorities(try setting("SHOP_CA"))
let transport = try PooledTransport(trust: trust)
let configuration = OAuthConfiguration(
    tokenEndpoint: .init(origin: tokenOrigin, target: "\(tokens.path)/"),
    clientID: try setting("CLIENT_ID"),
    clientSecret: Secret(try setting("CLIENT_SECRET")),
    scopes: ["read", "write"]
)
let oauth = OAuthManager(
    service: TokenEndpointClient(transport: transport),
    tokenStore: MemoryTokenStore(),
    configuration: configuration
)
let channel = NetworkChannel(
    transport: transport,
    host: shopOrigin.authority,
    authorizer: oauth,
    logger: SwiftLogNetworkLogger(subsystem: "com.example.orders", category: "network")
)
let manager = NetworkManager<OrderEndpoint>(channel)
let api = OrderAPI(manager)
let limit = CallOptions(timeout: .seconds(30))

try check(try await api.orders() == [Order(id: 1, item: "lamp")], "orders over HTTPS")
try await api.store(Order(id: 7, item: "chair"))
let stored = try await manager.response(for: .store(Order(id: 7, item: "table")), options: limit)
try check(stored.status == 204, "an order is stored over HTTPS")
let client = try setting("CLIENT_NAME")
try check(try await api.account().client == client, "a signed request")

let revocation = try Request(
    .delete,
    url: URL(string: "\(shop)/control/tokens?client=\(client)") ?? URL(filePath: "/")
)
_ = try await manager.perform(revocation, authorization: .never)
let replayed = try await manager.response(for: .account, options: limit)
try check(replayed.context.retries == [.unauthorized], "a revoked token is renewed and sent again")

var events: [String] = []
for try await event in try await manager.stream(.news).events { events.append(event.data) }
try check(events == ["0", "1", "2", "3", "4"], "an event stream")

let file = FileManager.default.temporaryDirectory.appending(path: "orders-\(getpid()).txt").path()
let files = NetworkManager<PathEndpoint>(channel)
let words = PathEndpoint("/files/words.txt", of: shop, authorization: .never)
let download = try await files.download(words, to: file)
let whole = try await files.data(for: words)
try check(download.length == whole.count && whole.count > 60_000, "a download")
let part = ResumePoint(
    partialPath: file,
    received: 1000,
    validator: download.headers[.etag] ?? ""
)
let resumed = try await files.download(words, to: "\(file).2", resuming: part)
try check(resumed.status == 206 && resumed.length == whole.count, "a download that goes on")
try check(
    try Data(contentsOf: URL(filePath: "\(file).2")) == whole,
    "and has the same content"
)
try FileManager.default.removeItem(atPath: "\(file).2")

var form = MultipartForm()
form.append("note", text: "hello")
form.append("file", data: Data(repeating: 7, count: 200_000), filename: "a.bin")
let upload = PathEndpoint("/api/upload", of: shop, method: .post, authorization: .required)
struct Echo: Decodable, Sendable { var length: Int }
let echoed = try await files.upload(upload, .multipart(form), options: limit).decode(Echo.self)
try check(echoed.length > 200_000, "a multipart upload")

let strict = try PooledTransport(
    trust: .pinned(
        ["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="],
        authorities: trust.authorities
    )
)
var pinned = channel
pinned.transport = strict
do {
    _ = try await NetworkManager<PathEndpoint>(pinned).send(words)
    throw Disappointment(step: "a server without the pinned key is refused")
} catch let error as NetworkError {
    try check(error.kind == .tlsCertificateError, "a server without the pinned key is refused")
}
