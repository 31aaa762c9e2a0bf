import AsyncHTTPClient
import Foundation
import FoundationNetworking
import NIOPosix
import NetworkClient
import OriginTransport

// bench (netproxy|ahc|ahc-1|urlsession) (get|stream|collect|upload) URL REQUESTS CONCURRENCY
// Prints the CPU time of this process per request, in microseconds, after a warm-up.

/// The CPU time of every thread of this process so far, in nanoseconds, user and system together.
func cpuTime() throws -> UInt64 {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").reduce(0) { sum, task in
        let text = try String(contentsOfFile: "/proc/self/task/\(task)/schedstat", encoding: .utf8)
        return sum + (text.split(separator: " ").first.flatMap { UInt64($0) } ?? 0)
    }
}

/// Sends so many requests, so many at a time.
func run(
    _ requests: Int,
    _ concurrency: Int,
    _ send: @escaping @Sendable () async throws -> Int
) async throws -> Int {
    try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<concurrency {
            group.addTask {
                var bytes = 0
                for _ in 0..<(requests / concurrency) { bytes += try await send() }
                return bytes
            }
        }
        return try await group.reduce(0, +)
    }
}

/// What is measured.
enum Work: String {
    /// A small GET, its content collected.
    case get
    /// A long content, read piece by piece.
    case stream
    /// A long content, in memory as a whole.
    case collect
    /// 10 MB from memory.
    case upload
}

let arguments = CommandLine.arguments
guard arguments.count == 6, let work = Work(rawValue: arguments[2]),
    let requests = Int(arguments[4]), let concurrency = Int(arguments[5])
else {
    print(
        "usage: bench (netproxy|ahc|ahc-1|urlsession) (get|stream|collect|upload) URL REQUESTS CONCURRENCY"
    )
    exit(64)
}
let url = arguments[3]
let payload = Data(repeating: 7, count: work == .upload ? 10_000_000 : 0)
let limit = 1 << 24
let send: @Sendable () async throws -> Int
var client: HTTPClient?
switch arguments[1] {
case "netproxy":
    let manager = NetworkManager<PathEndpoint>(NetworkChannel(transport: try PooledTransport()))
    let endpoint = PathEndpoint(
        "",
        of: BaseURL(url),
        method: work == .upload ? .put : .get,
        task: work == .upload ? .data(payload, contentType: "application/octet-stream") : .plain,
        timeout: .seconds(30)
    )
    send = {
        guard work == .stream else {
            return try await manager.response(for: endpoint).content.count
        }
        var count = 0
        for try await piece in try await manager.stream(endpoint).bytes { count += piece.count }
        return count
    }
case "urlsession":
    guard let address = URL(string: url) else { exit(64) }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = concurrency
    let session = URLSession(configuration: configuration)
    var request = URLRequest(url: address)
    if work == .upload { request.httpMethod = "PUT" }
    let asked = request
    // On Linux it has no stream of bytes: its content is always collected.
    send = {
        work == .upload
            ? try await session.upload(for: asked, from: payload).0.count
            : try await session.data(for: asked).0.count
    }
default:
    // By default it has a thread for each core; with one, as the library has, it may be cheaper.
    let threads = arguments[1] == "ahc-1" ? 1 : ProcessInfo.processInfo.activeProcessorCount
    var configuration = HTTPClient.Configuration()
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = concurrency
    let shared = HTTPClient(
        eventLoopGroup: MultiThreadedEventLoopGroup(numberOfThreads: threads),
        configuration: configuration
    )
    client = shared
    var request = HTTPClientRequest(url: url)
    if work == .upload { request.method = .PUT }
    let asked = request
    send = {
        var request = asked
        if work == .upload { request.body = .bytes(payload) }
        let response = try await shared.execute(request, timeout: .seconds(30))
        guard work == .stream else {
            return try await response.body.collect(upTo: limit).readableBytes
        }
        var count = 0
        for try await piece in response.body { count += piece.readableBytes }
        return count
    }
}

/// The most memory that this process had so far, in KiB.
func peakMemory() throws -> Int {
    let text = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
    return line.split(separator: " ").compactMap { Int($0) }.first ?? 0
}

_ = try await run(max(requests / 10, concurrency), concurrency, send)
let before = try cpuTime()
let started = ContinuousClock.now
let bytes = try await run(requests, concurrency, send)
let elapsed = started.duration(to: .now)
let spent = try cpuTime() - before
let seconds =
    Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
print(
    """
    {"client":"\(arguments[1])","work":"\(work)","peak_kib":\(try peakMemory()),"requests":\(requests),"bytes":\(bytes),\
    "cpu_us":\(Double(spent) / 1000 / Double(requests)),\
    "per_second":\(Int(Double(requests) / seconds))}
    """
)
if let client { try await client.shutdown() }
