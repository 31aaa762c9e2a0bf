import NetproxyBytes
import NetproxyRequestLog
import NetworkCore
import Testing

/// Tests of curl commands that repeat a logged request through netproxy.
@Suite struct RepeatedRequestTests {
    private var orders: Entrances.Entrance {
        var entrance = Entrances.Entrance(address: "127.0.0.1:8080")
        (entrance.prefix, entrance.host, entrance.basePath) = ("/orders", "orders.localhost", "/v1")
        return entrance
    }

    private func command(
        _ record: ExchangeRecord,
        _ entrance: Entrances.Entrance? = nil,
        _ labels: LogLabels = LogLabels(channel: "orders")
    ) throws -> String? {
        let line = try #require(Samples.parsed(Samples.line(record, labels)))
        let entrances = Entrances(
            channels: ["orders": entrance ?? orders],
            shared: Entrances.Entrance(address: "127.0.0.1:8080")
        )
        return RepeatedRequest(line, query: labels.query, entrances)?.description
    }

    private func request(_ asked: String?, _ target: String = "/v1/42") -> ExchangeRecord {
        var record = Samples.exchange(status: 200, path: target)
        (record.asked, record.host) = (asked, "api.example.com")
        return record
    }

    @Test(arguments: [
        ("/orders/42", "/v1/42", "http://127.0.0.1:8080/orders/42"),
        ("/42", "/v1/42", "http://127.0.0.1:8080/42 -H 'Host: orders.localhost'"),
        ("/v1/42", "/v1/42", "-x http://127.0.0.1:8080 http://api.example.com/v1/42"),
        ("/orders/{a}", "/v1/{a}", "--globoff 'http://127.0.0.1:8080/orders/{a}'"),
    ])
    func `the command uses the same route as the client`(
        asked: String,
        target: String,
        words: String
    ) throws {
        #expect(try command(request(asked, target)) == "curl \(words)")
    }

    @Test func `values missing from the log are empty, and a comment names them`() throws {
        var record = request("/orders/42?a=1&b=2", "/v1/42?a=1&b=2")
        (record.method, record.bytesIn) = ("POST", 7)
        record.headers = ["Accept", "Authorization", "Content-Length"]
            .compactMap { HTTPField($0, "1") }
        let labels = LogLabels(
            channel: "orders",
            headers: ["Accept", "Authorization", "Content-Length"]
        )
        var locked = orders
        locked.demandsKey = true
        #expect(
            try command(record, locked, labels) == """
                # not in the log, so left empty: the values of a and b, the field authorization, \
                the body (7 bytes), the key (access.key)
                curl -X POST 'http://127.0.0.1:8080/orders/42?a=&b=' -H 'accept: 1' --data-binary ''
                """
        )
    }

    @Test func `a completely logged query is sent completely`() throws {
        let labels = LogLabels(channel: "orders", query: .full)
        let record = request("/orders/42?a=1&b=2", "/v1/42?a=1&b=2")
        #expect(
            try command(record, nil, labels) == "curl 'http://127.0.0.1:8080/orders/42?a=1&b=2'"
        )
    }

    @Test func `own listeners, unix sockets and systemd sockets are found`() throws {
        let record = request("/42")
        let own = Entrances.Entrance(address: "127.0.0.1:9000")
        #expect(try command(record, own) == "curl http://127.0.0.1:9000/42")
        let socket = Entrances.Entrance(socket: "/run/app.sock")
        #expect(
            try command(record, socket) == "curl --unix-socket /run/app.sock http://localhost/42"
        )
        let text = try #require(try command(record, Entrances.Entrance()))
        #expect(text.hasPrefix("# not in the log, so left empty: netproxy's address"))
    }

    @Test func `a request without a channel is repeated, too`() throws {
        let labels = LogLabels()
        let refused = Samples.exchange(status: 404, path: "/nowhere")
        #expect(try command(refused, nil, labels) == "curl http://127.0.0.1:8080/nowhere")
        var forwarded = request(nil, "/a")
        forwarded.host = "other.example"
        #expect(
            try command(forwarded, nil, labels)
                == "curl -x http://127.0.0.1:8080 http://other.example/a"
        )
    }

    @Test func `a tunnel and a malformed request have no command`() throws {
        var tunnel = Samples.minimal(path: "")
        (tunnel.method, tunnel.host) = ("CONNECT", "pypi.org:443")
        #expect(try command(tunnel) == nil)
        var malformed = Samples.minimal(path: "")
        malformed.method = ""
        #expect(try command(malformed) == nil)
    }
}
