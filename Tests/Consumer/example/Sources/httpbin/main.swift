import Foundation
import NetworkClient

// The library against httpbin under a real server, whose URL is the only argument. Prints a line for each step and
// exits 1 at the first that does not do what it says.

struct Disappointment: Error { let step: String }

func check(_ condition: Bool, _ step: String) throws {
    guard condition else { throw Disappointment(step: step) }
    print("ok httpbin: \(step)")
}

let server = CommandLine.arguments.dropFirst().first ?? ""
var channel = NetworkChannel(transport: .shared)
channel.timeout = .seconds(30)
let manager = NetworkManager<PathEndpoint>(channel)

func get(_ path: String, headers: HTTPHeaders = [:]) async throws -> WholeResponse {
    try await manager.perform(Request(url: server + path, headers: headers))
}

struct Echo: Decodable, Sendable {
    var args: [String: String]?
    var data: String?
    var files: [String: String]?
    var form: [String: String]?
    var headers: [String: String]
    var url: String?
}

// Content codings.
for (path, flag) in [("/gzip", "gzipped"), ("/deflate", "deflated"), ("/brotli", "brotli")] {
    let response = try await get(path)
    try check(
        response.text.contains("\"\(flag)\": true") && response.headers["Content-Encoding"] == nil,
        "\(path) is decoded"
    )
}
let raw = try await get("/gzip", headers: ["Accept-Encoding": "identity"])
try check(raw.data.starts(with: [0x1F, 0x8B]), "who asks for identity gets the bytes as they are")

// Redirects.
let redirected = try await get("/absolute-redirect/3")
try check(redirected.context.redirects.count == 3, "three redirects are followed")
try check(try await get("/relative-redirect/5").status == 200, "five relative ones, too")
do {
    _ = try await get("/redirect/6")
    throw Disappointment(step: "the sixth is not followed")
} catch let error as NetworkError {
    try check(
        error.response?.headers["Location"] != nil && error.detail.contains("5 redirects"),
        "the sixth is not followed, and the error has its Location"
    )
}
let moved = try Request(.post, url: "\(server)/redirect-to?url=/get&status_code=303")
try check(
    try await manager.perform(moved).decode(Echo.self).url?.hasSuffix("/get") == true,
    "303 after a POST is followed by GET"
)

// Cookies.
var remembering = channel
remembering.cookies = CookieJar()
let visitor = NetworkManager<PathEndpoint>(remembering)
struct Cookies: Decodable, Sendable { var cookies: [String: String] }
let cookies = try await visitor.request(
    Request(url: "\(server)/cookies/set?a=1&b=2"),
    as: Cookies.self
)
try check(
    cookies.cookies == ["a": "1", "b": "2"],
    "cookies come back on the redirect that sets them"
)

// Bodies.
var form = MultipartForm()
form.append("note", text: "hällo")
form.append("file", data: Data("content".utf8), filename: "a.txt")
let posted = try await manager.upload(Request(.post, url: "\(server)/post?x=1"), .multipart(form))
    .decode(Echo.self)
try check(
    posted.form?["note"] == "hällo" && posted.files?["file"] == "content"
        && posted.args?["x"] == "1",
    "a form with a file"
)
let large = Data(repeating: 97, count: 1_000_000)
let put = try await manager.upload(
    Request(.put, url: "\(server)/put"),
    .data(large, contentType: "text/plain")
).decode(Echo.self)
try check(put.data?.utf8.count == 1_000_000, "a megabyte from memory")
try check(try await get("/bytes/100000").content.count == 100_000, "100,000 bytes")
var lines = 0
for try await line in try await manager.stream(Request(url: "\(server)/stream/20")).lines
where !line.isEmpty {
    lines += 1
}
try check(lines == 20, "twenty lines in chunks")
let file = FileManager.default.temporaryDirectory.appending(path: "httpbin-\(getpid())").path()
let download = try await manager.download(Request(url: "\(server)/range/70000"), to: file)
try check(download.length == 70_000, "a download")
try FileManager.default.removeItem(atPath: file)

// Credentials and words.
var signed = CallOptions()
signed.authorization = .required
var basic = channel
basic.authorizer = try StaticAuthorizer.basic(username: "me", password: Secret("pw"))
let me = NetworkManager<PathEndpoint>(basic)
try check(
    try await me.data(for: Request(url: "\(server)/basic-auth/me/pw"), options: signed).count > 0,
    "a user name and a password"
)
try check(
    try await get("/headers").decode(Echo.self).headers["User-Agent"] == "netproxy-swift",
    "a User-Agent by default"
)
for status in [404, 418, 500] {
    do {
        _ = try await get("/status/\(status)")
        throw Disappointment(step: "\(status) is an error")
    } catch let error as NetworkError {
        try check(error.status?.rawValue == status, "\(status) is an error with its status")
    }
}
let slow = CallOptions(timeout: .milliseconds(300))
do {
    _ = try await manager.data(for: Request(url: "\(server)/delay/5"), options: slow)
    throw Disappointment(step: "a slow answer is a timeout")
} catch let error as NetworkError {
    try check(error.isTimeout, "a slow answer is a timeout")
}
