import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage
import Testing

@testable import NetproxyHTTP2

/// Tests of our HPACK encoder, with nghttp2 as the decoder.
@Suite struct FieldEncoderTests {
    /// A client session, and a server session that reads its bytes.
    private final class World {
        let client = HTTP2Session(.client)
        let server: HTTP2Session

        init() {
            var limits = HTTP2Limits()
            limits.messages.sectionSize = 1 << 20
            server = HTTP2Session(.server, limits: limits)
        }

        /// Sends a request, and returns the payload of its frames and the head that the server reads.
        func send(_ headers: HTTPHeaders, to target: String = "/") throws -> (
            block: [UInt8], frames: Int, read: HTTPHeaders?, target: String?
        ) {
            let head = OutputBuffer()
            HeadEncoder.encodeRequest(
                method: .get,
                target: target,
                host: "a",
                headers: headers,
                framing: .none,
                into: head
            )
            _ = client.sendRequest(head, method: .get, scheme: "https", hasContent: false)
            let output = OutputBuffer()
            try client.produce(into: output, upTo: 1 << 24)
            let bytes = output.span.array
            try server.receive(bytes.span, now: 1)
            var read: RequestHead?
            for event in server.takeEvents() {
                if case .request(_, let head, _) = event { read = head }
            }
            var block: [UInt8] = []
            var (index, frames) = (bytes.starts(with: RawFrame.preface) ? 24 : 0, 0)
            while index + 9 <= bytes.count {
                let count =
                    Int(bytes[index]) << 16 | Int(bytes[index + 1]) << 8 | Int(bytes[index + 2])
                if bytes[index + 3] == 1 || bytes[index + 3] == 9 {
                    block += bytes[(index + 9)..<(index + 9 + count)]
                    frames += 1
                }
                index += 9 + count
            }
            return (block, frames, read?.headers, read?.target.pathAndQuery)
        }
    }

    private func check(_ read: HTTPHeaders?, _ sent: HTTPHeaders) {
        let found = read?.filter { $0.name != .host } ?? []
        #expect(HTTPHeaders(found) == sent)
    }

    @Test func `a repeated field is sent as a reference to the table`() throws {
        let world = World()
        let headers: HTTPHeaders = [
            "Authorization": "Bearer " + String(repeating: "t", count: 900), "X-Client": "story",
        ]
        var sizes: [Int] = []
        for _ in 0..<4 {
            let (block, _, read, _) = try world.send(headers)
            sizes.append(block.count)
            check(read, headers)
        }
        #expect(sizes[0] > 900 && sizes[1] > 900)
        #expect(sizes[2] < 20 && sizes[3] < 20)
    }

    @Test func `a full table evicts its oldest entries`() throws {
        let world = World()
        for round in 0..<12 {
            var headers = HTTPHeaders()
            for number in 0..<30 {
                let value = String(repeating: "\(number % 10)", count: 100 + number * (round / 4))
                headers.append(HTTPHeaders(["x-field-\(number)": value]))
            }
            check(try world.send(headers).read, headers)
        }
    }

    @Test func `a field that changes with each request does not displace a stable one`() throws {
        let world = World()
        var last = 0
        for number in 0..<100 {
            let headers: HTTPHeaders = [
                "X-Client": String(repeating: "c", count: 500), "X-Request-Id": "request-\(number)",
            ]
            let (block, _, read, _) = try world.send(headers)
            check(read, headers)
            last = block.count
        }
        #expect(last < 60)
    }

    @Test func `a short credential is never added to the table`() throws {
        let world = World()
        for name in ["authorization", "cookie", "proxy-authorization"] {
            for _ in 0..<4 {
                let (block, _, read, _) = try world.send(HTTPHeaders([name: "Basic YTpi"]))
                #expect(read?.contains(HTTPFieldName(stringLiteral: name)) == true)
                // Never indexed, neither here nor by an intermediary that forwards it (RFC 7541 §6.2.3).
                let value = Array("Basic YTpi".utf8)
                let place = block.indices.first { block[$0...].starts(with: value) }
                #expect(place != nil)
                #expect(block.contains { $0 & 0xF0 == 0x10 })
            }
        }
    }

    @Test(arguments: [0, 100, 4096, 65_536]) func `the table has the size that the peer allows`(
        size: Int
    ) throws {
        let world = World()
        let setting = RawFrame.frame(4, 0, 0, RawFrame.number(1, 2) + RawFrame.number(size, 4))
        let headers: HTTPHeaders = ["X-Client": String(repeating: "c", count: 200)]
        for _ in 0..<3 { check(try world.send(headers).read, headers) }
        try world.client.receive(setting.span, now: 1)
        let (block, _, read, _) = try world.send(headers)
        check(read, headers)
        // The next block announces a smaller size (RFC 7541 §4.2).
        #expect((block[0] & 0xE0 == 0x20) == (size < 4096))
        for _ in 0..<3 { check(try world.send(headers).read, headers) }
        let last = try world.send(headers).block.count
        #expect((last < 20) == (size >= 4096))
    }

    @Test(arguments: [[[0], [4096]], [[0, 4096]]])
    func `the next head announces the smallest size since the previous head`(
        settings: [[Int]]
    ) throws {
        let world = World()
        let headers: HTTPHeaders = ["X-Client": String(repeating: "c", count: 200)]
        for _ in 0..<3 { check(try world.send(headers).read, headers) }
        for sizes in settings {
            let entries = sizes.flatMap { RawFrame.number(1, 2) + RawFrame.number($0, 4) }
            try world.client.receive(RawFrame.frame(4, 0, 0, entries).span, now: 1)
            // The server did not send these settings, so it must not see their acknowledgment.
            try world.client.produce(into: OutputBuffer(), upTo: 1 << 16)
        }
        // The smallest size and the current one (RFC 7541 §4.2): the peer has evicted all entries.
        let (block, _, read, _) = try world.send(headers)
        #expect(block.starts(with: [0x20, 0x3F, 0xE1, 0x1F]))
        check(read, headers)
        for _ in 0..<3 { check(try world.send(headers).read, headers) }
    }

    @Test func `a head longer than one frame continues in CONTINUATION frames`() throws {
        let world = World()
        var headers = HTTPHeaders()
        for number in 0..<5 {
            headers.append(HTTPHeaders(["x-long-\(number)": String(repeating: "v", count: 9000)]))
        }
        let (block, frames, read, _) = try world.send(headers)
        #expect(block.count > 45_000 && frames == 3)
        check(read, headers)
    }

    /// Names with the same hash as another name, found by inverting the hash.
    private static let twins: [(name: String, twin: String)] = [
        ("authorization", "x-ujzde8odzdoc9id19gaaaau&s|ckz.gxd6ncf10epf91dh"),
        ("host", "x-s0j8htxtplpft79hpocaaa1-*9xyog9lgmxg9edn581u33"),
        ("content-length", "x-5v2sehfr4edt2swmjfaaaahb3gorl!60kvj50ce9uvw53e"),
        ("transfer-encoding", "x-ywb3wki19r0wyoquwcaaaa$w!.m9'5h5dnsipzz5fk2z9r"),
        ("cookie", "x-jfljoozzzzg4zdk16abaaa9f*+yl`wa5lqsaj08xui6d39"),
        ("from", "x-men2kh4hh5344t3xfiaaaawtfkagpvvdgaj8gxbenyjqwx"),
    ]
    /// Values with the same hash as a value in the static table, for the same field.
    private static let valueTwins: [(name: String, value: String, twin: String)] = [
        (":path", "/", "/pub/fjg7xkwo886mecaaaaapWp0P@$gvq4k7bn7xj8b7tfq"),
        (":path", "/index.html", "/pub/vomxfogo4mv15naaaaa(FvcPsg6pzom75wbbr4qmw2w"),
        ("accept-encoding", "gzip, deflate", "vn4a4wfh3j4wj99ivjw0gaaaa1jzr3hfym4l1vfz3zfkkibj"),
    ]

    @Test func `a field is not mistaken for another one with the same hash`() throws {
        func hash(_ name: String, _ value: String = "") -> UInt64 {
            let hash = name.utf8.span.hash(from: 0)
            return value.isEmpty ? hash : value.utf8.span.hash(from: hash)
        }
        let world = World()
        for (name, twin) in FieldEncoderTests.twins {
            #expect(hash(name) == hash(twin))
            for _ in 0..<3 {
                let headers = HTTPHeaders([twin: "value"])
                check(try world.send(headers).read, headers)
            }
        }
        for (name, value, twin) in FieldEncoderTests.valueTwins {
            #expect(hash(name, value) == hash(name, twin))
            guard name != ":path" else {
                #expect(try world.send([:], to: twin).target == twin)
                continue
            }
            for value in [twin, value, twin] {
                let headers = HTTPHeaders([name: value])
                check(try world.send(headers).read, headers)
            }
        }
    }

    @Test func `the server decodes random fields unchanged`() throws {
        var numbers = SystemRandomNumberGenerator()
        let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789-")
        func text(_ lengths: ClosedRange<Int>) -> String {
            let count = Int.random(in: lengths, using: &numbers)
            return String((0..<count).compactMap { _ in letters.randomElement(using: &numbers) })
        }
        // Short names and few values, so that many fields repeat; some share a hash.
        let known = ["accept", "authorization", "cache-control", "from", "etag", "x-a", "x-b"]
        let names =
            known + FieldEncoderTests.twins.map(\.twin) + (0..<20).map { _ in "x\(text(1...60))" }
        let values = FieldEncoderTests.valueTwins.map(\.twin) + (0..<20).map { _ in text(0...80) }
        var world = World()
        for number in 0..<400 {
            // The server allows 100 streams for each connection.
            if number % 100 == 0 { world = World() }
            var headers = HTTPHeaders()
            for _ in 0..<Int.random(in: 0...12) {
                guard let name = names.randomElement(), let value = values.randomElement() else {
                    continue
                }
                headers.append(HTTPHeaders([name: value]))
            }
            check(try world.send(headers).read, headers)
        }
    }

    @Test func `the stream table finds streams inserted in any order`() {
        final class Value { let id: Int32; init(_ id: Int32) { self.id = id } }
        var table = StreamTable<Value>()
        for id: Int32 in [1, 5, 3, 9, 7] { table[id] = Value(id) }
        #expect(table.all.map(\.id) == [1, 3, 5, 7, 9])
        for id: Int32 in [1, 3, 5, 7, 9] { #expect(table[id]?.id == id) }
        #expect(table[2] == nil && table[11] == nil && table[0] == nil)
        #expect(table.take(5)?.id == 5)
        #expect(table.take(5) == nil)
        table[1] = nil
        table[9] = Value(9)
        #expect(table.all.map(\.id) == [3, 7, 9])
        #expect(table.count == 3)
    }
}
