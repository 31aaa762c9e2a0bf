import Foundation
import TestSupport
import Testing

@testable import NetproxyPath
@testable import NetproxyService

@Suite struct MetricsStory {
    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
    private static let page = root.appending(
        path: "Sources/Daemon/Documentation.docc/Metrics.md"
    )

    /// Runs a story with three exchanges: one served with a token, one failed, and one without a token.
    private func withTraffic(_ story: (DaemonHarness) async throws -> Void) async throws {
        let origin = try await OriginServer.start { _ in Raw.ok("served") }
        let tokens = try await OriginServer.start { _ in
            Raw.ok(
                #"{"access_token":"t","token_type":"Bearer","expires_in":3600}"#,
                "Content-Type: application/json"
            )
        }
        let stranger = try await OriginServer.start { _ in
            Raw.response(
                "401 Unauthorized",
                fields: ["Content-Type: application/json"],
                body: #"{"error":"invalid_client"}"#
            )
        }
        let oauth = "client_id: a, client_auth: none, token_url"
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  auth: { oauth: { \(oauth): 'http://127.0.0.1:\(tokens.port)/token' } }
                mail:
                  upstream: http://127.0.0.1:\(origin.port)
                  auth: { oauth: { \(oauth): 'http://127.0.0.1:\(stranger.port)/token' } }
                broken: { upstream: 'http://127.0.0.1:9', retry: { attempts: 0 } }
                """,
            // The etcd does not exist, but tokens that each machine requests itself do not need it.
            root: """
                state_key: literal:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=
                state: { etcd: { endpoints: ['http://127.0.0.1:9'] } }
                """
        ) { proxy in
            #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 200)
            #expect(try await proxy.exchange(Raw.get("/broken/1")).status == 502)
            #expect(try await proxy.exchange(Raw.get("/mail/1")).status == 503)
            try await story(proxy)
        }
    }

    @Test func `durations, errors and token requests are counted`() async throws {
        try await withTraffic { proxy in
            let metrics = try await proxy.ask(Raw.get("/metrics")).body
            for line in [
                #"netproxy_request_duration_seconds_bucket{channel="orders",le="+Inf"} 1"#,
                #"netproxy_request_duration_seconds_count{channel="orders"} 1"#,
                #"netproxy_upstream_first_byte_seconds_count{channel="orders"} 1"#,
                #"netproxy_errors_total{channel="broken",error="connection_refused"} 1"#,
                #"netproxy_errors_total{channel="mail",error="credential_unavailable"} 1"#,
                #"netproxy_token_renewals_total{channel="orders"} 1"#,
                #"netproxy_token_failures_total{channel="orders"} 0"#,
                #"netproxy_token_unsaved{channel="orders"} 0"#,
                #"netproxy_token_renewals_total{channel="mail"} 0"#,
                #"netproxy_token_failures_total{channel="mail"} 1"#,
            ] {
                #expect(metrics.contains(line + "\n"), "no \(line)")
            }
            // Every error starts at zero, so that the first error shows as an increase.
            let none = #"netproxy_errors_total{channel="orders",error="connection_refused"} 0"#
            #expect(metrics.contains(none + "\n"))
            #expect(
                !metrics.contains(#"netproxy_upstream_first_byte_seconds_count{channel="broken""#)
            )
            #expect(metrics.contains("\nprocess_resident_memory_bytes "))
        }
    }

    @Test func `the status shows the durations of exchanges and their errors`() async throws {
        try await withTraffic { proxy in
            let answer = try await proxy.ask(Raw.get("/status")).body
            let lines = try #require(DaemonStatus(json: answer)).lines
            #expect(
                lines.contains(
                    "  traffic  1 request (5xx 1), 1 netproxy error (connection_refused 1), 0 retries"
                )
            )
            let times = try #require(lines.first { $0.hasPrefix("  time     p50 ≤ ") })
            #expect(times.contains(", p99 ≤ "))
            #expect(times.contains("; upstream's first byte p50 ≤ "))
        }
    }

    @Test func `every metric and every member of the status is documented`() async throws {
        let page = try String(contentsOf: MetricsStory.page, encoding: .utf8)
        try await withTraffic { proxy in
            let metrics = try await proxy.ask(Raw.get("/metrics")).body
            let told = metrics.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }
                .map { $0.split(separator: " ")[2...3].map(String.init) }
            let documented = page.split(separator: "\n")
                .filter { $0.hasPrefix("| `netproxy_") || $0.hasPrefix("| `process_") }
                .map { $0.split(separator: "|").prefix(2).map { $0.filter { !" `".contains($0) } } }
            #expect(told == documented)

            let answer = try await proxy.ask(Raw.get("/status")).body
            let status = try JSONSerialization.jsonObject(with: Data(answer.utf8))
            for member in MetricsStory.members(of: status) {
                let isTold = ["`\(member)`", "`\(member)[]`", ".\(member)`"].contains(
                    where: page.contains
                )
                #expect(isTold, "\(member) is not documented")
            }
        }
    }

    @Test(arguments: ["netproxy.rules.yml", "netproxy.dashboard.json"])
    func `alerts and dashboard refer to existing series`(file: String) async throws {
        let text = try String(
            contentsOf: MetricsStory.root.appending(path: "config/monitoring/\(file)"),
            encoding: .utf8
        )
        let names = Set(
            text.matches(of: /\b(?:netproxy|process)_[a-z0-9_]+/).map { name in
                let name = String(name.output)
                return name.hasSuffix("_bucket") ? String(name.dropLast(7)) : name
            }
        )
        #expect(names.count > 10)
        try await withTraffic { proxy in
            let metrics = try await proxy.ask(Raw.get("/metrics")).body
            let told = metrics.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }
                .map { String($0.split(separator: " ")[2]) }
            #expect(names.subtracting(told) == [])
        }
    }

    /// Returns the names of all members, except those that are data: classes and error words.
    private static func members(of value: Any) -> Set<String> {
        if let list = value as? [Any] {
            return list.reduce(into: []) { $0.formUnion(members(of: $1)) }
        }
        guard let object = value as? [String: Any] else { return [] }
        return object.reduce(into: Set(object.keys)) { names, member in
            if ["statuses", "unclaimed", "errors_by_word", "faults"].contains(member.key) {
                return
            }
            names.formUnion(members(of: member.value))
        }
    }
}

@Suite struct DurationHistograms {
    @Test func `a duration equal to a bound belongs to the bucket of the bound`() throws {
        var histogram = DurationHistogram()
        #expect(DaemonStatus.Durations(histogram)?.sumS == nil)
        for duration in [
            .zero, .milliseconds(1), .milliseconds(1) + .nanoseconds(1), .milliseconds(50),
            .seconds(60), .seconds(60) + .nanoseconds(1), .seconds(7 * 24 * 60 * 60),
        ] as [Duration] {
            histogram.count(duration)
        }
        let status = try #require(DaemonStatus.Durations(histogram))
        let counts = status.buckets.map(\.count)
        #expect(counts == [2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5, 7])
        #expect(status.buckets.map(\.withinS).last == .some(nil))
        #expect(status.buckets[14].withinS == 60)
        #expect(status.sumS == 604_920.052_000_002)
    }

    @Test func `the histograms of several loops add up`() throws {
        var (one, other) = (DurationHistogram(), DurationHistogram())
        one.count(.milliseconds(3))
        other.count(.milliseconds(4))
        other.count(.seconds(3))
        let both = try #require(DaemonStatus.Durations(one + other))
        #expect(both.buckets.first { $0.withinS == 0.005 }?.count == 2)
        #expect(both.buckets.last?.count == 3)
        #expect(both.sumS == 3.007)
    }

    @Test(
        arguments: [
            (50, 50, "p50 ≤ 1 ms, p99 ≤ 5 s"),
            (99, 1, "p50 ≤ 1 ms, p99 ≤ 1 ms"),
            (49, 51, "p50 ≤ 5 s, p99 ≤ 5 s"),
            (0, 1, "p50 ≤ 5 s, p99 ≤ 5 s"),
        ]
    )
    func `a percentile is shown as the bound of its bucket`(
        _ short: Int,
        _ long: Int,
        _ told: String
    ) throws {
        var histogram = DurationHistogram()
        for _ in 0..<short { histogram.count(.milliseconds(1)) }
        for _ in 0..<long { histogram.count(.seconds(3)) }
        #expect(try #require(DaemonStatus.Durations(histogram)).text == told)
    }

    @Test func `a duration beyond all bounds is shown as longer`() throws {
        var histogram = DurationHistogram()
        histogram.count(.seconds(61))
        #expect(try #require(DaemonStatus.Durations(histogram)).text == "p50 > 60 s, p99 > 60 s")
    }
}
