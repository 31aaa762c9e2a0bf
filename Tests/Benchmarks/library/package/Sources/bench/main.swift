import AsyncHTTPClient
import Foundation
import NIOPosix
import NetworkClient
import OriginTransport

// bench (netproxy|ahc|ahc-1) URL REQUESTS CONCURRENCY
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

let arguments = CommandLine.arguments
guard arguments.count == 5, let requests = Int(arguments[3]), let concurrency = Int(arguments[4])
else {
    print("usage: bench (netproxy|ahc|ahc-1) URL REQUESTS CONCURRENCY")
    exit(64)
}
let url = arguments[2]
let send: @Sendable () async throws -> Int
var client: HTTPClient?
switch arguments[1] {
case "netproxy":
    let manager = NetworkManager<PathEndpoint>(NetworkChannel(transport: try PooledTransport()))
    send = {
        let endpoint = PathEndpoint("", of: BaseURL(url), timeout: .seconds(30))
        return try await manager.response(for: endpoint).content.count
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
    send = {
        let response = try await shared.execute(
            HTTPClientRequest(url: url),
            timeout: .seconds(30)
        )
        return try await response.body.collect(upTo: 1 << 20).readableBytes
    }
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
    {"client":"\(arguments[1])","requests":\(requests),"bytes":\(bytes),\
    "cpu_us":\(Double(spent) / 1000 / Double(requests)),\
    "per_second":\(Int(Double(requests) / seconds))}
    """
)
if let client { try await client.shutdown() }
