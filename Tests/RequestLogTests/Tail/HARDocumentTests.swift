import NetproxyBytes
import NetproxyRequestLog
import NetworkCore
import Testing

/// Tests of HTTP archives made from logged requests.
@Suite struct HARDocumentTests {
    @Test func `a HAR document has an entry per exchange`() throws {
        var record = Samples.retried()
        record.host = "api.example.com"
        record.target += "?a=1"
        record.protocolVersion = "HTTP/1.1"
        record.bytesOut = 5
        record.context.timings.firstByte = .milliseconds(10)
        let exchange = try #require(
            Samples.parsed(Samples.line(record, LogLabels(channel: "orders", query: .full)))
        )
        let event = try #require(
            Samples.parsed(
                Samples.line(EventRecord(time: Samples.time, event: .pool, message: "full"))
            )
        )
        let output = OutputBuffer()
        var document = HARDocument()
        document.begin(output, version: "1.0")
        for line in [exchange, event, exchange] { document.append(line, to: output) }
        document.end(output)
        let log = try #require(Samples.parsed(output.text)?["log"])
        #expect(log["version"]?.text == "1.2")
        let entries = try #require(log["entries"]?.list)
        #expect(entries.count == 2)
        let request = try #require(entries[0]["request"])
        #expect(request["url"]?.text == "http://api.example.com/v1/42?a=1")
        #expect(request["queryString"]?.list?.first?["value"]?.text == "1")
        #expect(entries[0]["response"]?["status"]?.integer == 200)
        #expect(entries[0]["response"]?["statusText"]?.text == "OK")
        #expect(entries[0]["response"]?["content"]?["size"]?.integer == 5)
        #expect(entries[0]["timings"]?["wait"]?.integer == 10)
        #expect(entries[0]["timings"]?["receive"]?.number == 2.34)
    }

    @Test(arguments: [
        // HAR 1.2: the sum of all phases except ssl, which is part of connect.
        (true, ["blocked": 1.5, "dns": 2, "connect": 7, "ssl": 4, "wait": 10, "receive": 0.5]),
        (false, ["blocked": 1.5, "dns": 2, "connect": 7, "ssl": 4, "wait": 10.5, "receive": 0]),
    ])
    func `the phases of a HAR entry add up to its time`(
        isAnswered: Bool,
        phases: [String: Double]
    ) throws {
        var record = Samples.retried()
        record.duration = .milliseconds(21)
        record.context.timings.queue = .milliseconds(1)
        record.context.timings.dns = .milliseconds(2)
        record.context.timings.connect = .milliseconds(3)
        record.context.timings.tls = .milliseconds(4)
        record.context.timings.firstByte = isAnswered ? .milliseconds(10) : nil
        var authorization = AuthorizationFacts(kind: "oauth")
        authorization.wait = .microseconds(500)
        record.context.authorization = authorization
        let line = try #require(Samples.parsed(Samples.line(record)))
        let output = OutputBuffer()
        var document = HARDocument()
        document.begin(output, version: "1.0")
        document.append(line, to: output)
        document.end(output)
        let entry = try #require(Samples.parsed(output.text)?["log"]?["entries"]?.list?.first)
        for (name, milliseconds) in phases {
            #expect(entry["timings"]?[name]?.number == milliseconds, "\(name)")
        }
        #expect(entry["time"]?.number == 21)
    }

    @Test func `an archive has every member that HAR 1.2 requires`() throws {
        var record = Samples.exchange(status: 200)
        (record.host, record.protocolVersion) = ("h", "HTTP/1.1")
        (record.bytesOut, record.duration) = (5, .milliseconds(3))
        record.headers = [HTTPField("Accept", "*/*")].compactMap { $0 }
        record.responseHeaders = [HTTPField("Content-Type", "text/plain"), HTTPField("Age", "1")]
            .compactMap { $0 }
        let labels = LogLabels(channel: "orders", headers: ["Accept", "Content-Type", "Age"])
        let line = try #require(Samples.parsed(Samples.line(record, labels)))
        var printer = LogPrinter(.archive(version: "1.0"))
        let bytes = printer.render([line]) + printer.render([line]) + printer.end()
        let entry =
            #"{"startedDateTime":"2026-03-04T05:06:07.000089Z","time":3,"request":{"method":"GET","#
            + #""url":"http://h/v1/42","httpVersion":"HTTP/1.1","cookies":[],"headers":"#
            + #"[{"name":"accept","value":"*/*"}],"queryString":[],"headersSize":-1,"bodySize":0},"#
            + #""response":{"status":200,"statusText":"OK","httpVersion":"HTTP/1.1","cookies":[],"#
            + #""headers":[{"name":"content-type","value":"text/plain"},"#
            + #"{"name":"age","value":"1"}],"content":{"size":5,"mimeType":"text/plain"},"#
            + #""redirectURL":"","headersSize":-1,"bodySize":5},"cache":{},"#
            + #""timings":{"send":0,"receive":0,"blocked":-1,"dns":-1,"connect":-1,"ssl":-1,"wait":3},"#
            + #""_channel":"orders","_requestId":"r1"}"#
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == #"{"log":{"version":"1.2","creator":{"name":"netproxy","version":"1.0"},"entries":["#
                + "\n\(entry),\n\(entry)\n]}}\n"
        )
    }

    @Test(arguments: [
        (nil, "/v1/42?a=1", "http://localhost/v1/42?a=1"), (nil, "", "http://localhost/"),
        ("a.example:443", "", "http://a.example:443/"),
    ])
    func `every URL of an archive is absolute`(host: String?, target: String, url: String) throws {
        var record = Samples.retried()
        (record.host, record.target) = (host, target)
        let labels = LogLabels(channel: "orders", query: .full)
        let line = try #require(Samples.parsed(Samples.line(record, labels)))
        var printer = LogPrinter(.archive(version: "1.0"))
        let text = String(decoding: printer.render([line]) + printer.end(), as: UTF8.self)
        let entry = try #require(Samples.parsed(text)?["log"]?["entries"]?.list?.first)
        #expect(entry["request"]?["url"]?.text == url)
    }

    @Test func `a HAR document without exchanges is valid`() throws {
        let output = OutputBuffer()
        let document = HARDocument()
        document.begin(output, version: "1.0")
        document.end(output)
        #expect(Samples.parsed(output.text)?["log"]?["entries"]?.list == [])
    }
}
