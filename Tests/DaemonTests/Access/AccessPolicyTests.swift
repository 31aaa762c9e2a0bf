import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetworkCore
import Testing

@testable import NetproxyPath

/// The access rules of a channel, request by request.
@Suite struct AccessPolicyTests {
    private func head(_ fields: [String]) throws -> RequestHead {
        let lines = ["GET /orders HTTP/1.1"] + fields
        let bytes = Array((lines.map { "\($0)\r\n" }.joined() + "\r\n").utf8)
        var decoder = RequestHeadDecoder()
        return try #require(try decoder.decode(bytes.span)).head
    }

    /// Returns the status of the refusal; `nil` if the request is admitted.
    private func refusal(
        _ policy: AccessPolicy,
        host: String = "localhost",
        _ fields: String...,
        user: UInt32? = nil
    ) throws -> Int? {
        let head = try head(["Host: \(host)"] + fields)
        do throws(NetworkError) {
            try policy.check(head, isChannelHost: { $0.host == "orders.test" }, userID: user)
            return nil
        } catch {
            return error.ownStatus?.rawValue
        }
    }

    @Test(
        arguments: [
            ("localhost", nil), ("a.localhost:8080", nil), ("127.0.0.1", nil), ("[::1]:80", nil),
            ("orders.test", nil), ("a.example.com", nil), ("listed.example", nil),
            ("notlocalhost", 421), ("localhost.evil.example", 421), ("evilexample.com", 421),
            ("example.com", 421), ("a.listed.example", 421), ("evil.example", 421),
            ("127.8.9.10", nil), ("10.0.0.1", 421), ("8.8.8.8", 421), ("[fe80::1]", 421),
            ("0.0.0.0:8080", 421), ("[::]", 421), ("[::ffff:127.0.0.1]", 421),
            ("[::ffff:7f00:1]:80", 421), ("[::127.0.0.1]", 421), ("[64:ff9b::7f00:1]", 421),
        ] as [(String, Int?)]
    )
    func `a request is admitted if its host is local, listed or a channel's`(
        host: String,
        status: Int?
    ) throws {
        let policy = AccessPolicy(hosts: ["*.example.com", "listed.example"])
        #expect(try refusal(policy, host: host) == status)
    }

    @Test func `a request for an IP address is served if the connection arrived at that address`()
        throws
    {
        func refusal(_ host: String, on local: String) throws -> Int? {
            let head = try head(["Host: \(host)"])
            do throws(NetworkError) {
                try AccessPolicy().check(
                    head,
                    isChannelHost: { _ in false },
                    userID: nil,
                    localAddress: { SocketAddress(ip: local, port: 8080) }
                )
                return nil
            } catch {
                return error.ownStatus?.rawValue
            }
        }
        #expect(try refusal("192.168.1.5:8080", on: "192.168.1.5") == nil)
        #expect(try refusal("192.168.1.5:9000", on: "::ffff:192.168.1.5") == nil)
        #expect(try refusal("[2001:db8::5]", on: "2001:db8:0::5") == nil)
        #expect(try refusal("192.168.1.6", on: "192.168.1.5") == 421)
        #expect(try refusal("[::ffff:192.168.1.5]", on: "192.168.1.5") == 421)
        #expect(try refusal("0.0.0.0", on: "0.0.0.0") == 421)
    }

    @Test func `a list of hosts never admits an alternative spelling of an address`() throws {
        let policy = AccessPolicy(hosts: ["*"])
        #expect(try refusal(policy, host: "10.0.0.1") == nil)
        #expect(try refusal(policy, host: "evil.example") == nil)
        for host in ["0.0.0.0", "[::]", "[::ffff:10.0.0.1]"] {
            #expect(try refusal(policy, host: host) == 421)
        }
    }

    /// Fields that browsers send, and similar fields of other clients, for a channel with a credential.
    @Test(
        arguments: [
            ([], nil, nil), (["Accept: */*"], nil, nil),
            // A typed URL, a link in a mail, or a redirect after it.
            (
                [
                    "Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document",
                ], 403, nil
            ),
            (["Sec-Fetch-Site: none"], 403, nil),
            (["Sec-Fetch-Site: none", "Sec-Fetch-Dest: image"], 403, 403),
            (["Sec-Fetch-Site: none", "Sec-Fetch-Mode: cors"], 403, 403),
            (["Sec-Fetch-Site: same-origin"], 403, 403),
            (["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"], 403, 403),
            (["Sec-Fetch-Mode: navigate"], 403, 403), (["Sec-Fetch-Dest: empty"], 403, 403),
            (["Sec-Fetch-Mode: webtransport"], 403, 403),
            (["Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty"], 403, 403),
            (["Sec-Fetch-Mode: cors", "Sec-Fetch-Site: same-origin"], 403, 403),
            (["Sec-Fetch-Mode: websocket", "Sec-Fetch-Dest: websocket"], 403, 403),
            (["Sec-Fetch-Mode: websocket", "Sec-Fetch-Site: cross-site"], 403, 403),
            (["Sec-Fetch-Mode: websocket", "Origin: https://evil.example"], 403, 403),
            // Node's fetch and WebSocket: no browser sends a mode alone.
            (["Sec-Fetch-Mode: cors"], nil, nil), (["Sec-Fetch-Mode: no-cors"], nil, nil),
            (["Sec-Fetch-Mode: same-origin"], nil, nil),
            (["Sec-Fetch-Mode: websocket", "Sec-WebSocket-Version: 13"], nil, nil),
            // Fields that only browsers set.
            (["Sec-Purpose: prefetch"], 403, 403), (["sec-fetch-user: ?1"], 403, 403),
            (["Sec-Fetch-Storage-Access: active"], 403, 403), (["Sec-CH-UA: x"], 403, 403),
            (["Sec-GPC: 1", "Sec-Fetch-Mode: cors"], 403, 403),
            // Browsers without Fetch Metadata.
            (["Referer: http://evil.example/page"], 403, 403),
            (["Referer: https://localhost/"], 403, 403),
            (["Referer: android-app://example"], 403, 403),
            (["Referer: //localhost/x"], 403, 403), (["Referer: http://localhost"], nil, nil),
            (["Referer: http://localhost/a?x"], nil, nil), (["Referer: /a"], nil, nil),
            (["Referer: https://app.example/page"], nil, nil),
            (["Referer: https://app.example.evil.example/"], 403, 403),
            (["Origin: https://app.example", "Sec-Fetch-Site: cross-site"], nil, nil),
            (["Origin: https://evil.example"], 403, 403), (["Origin: none"], 403, 403),
            (["Origin: null"], 403, 403),
        ] as [([String], Int?, Int?)]
    )
    func `a browser uses a credential only for a listed page or for a page that the user opens`(
        fields: [String],
        status: Int?,
        withNone: Int?
    ) throws {
        func refusal(_ origins: [String]) throws -> Int? {
            let policy = AccessPolicy(origins: origins, stake: .credential)
            let head = try head(["Host: localhost"] + fields)
            do throws(NetworkError) {
                try policy.check(head, isChannelHost: { _ in false }, userID: nil)
                return nil
            } catch {
                return error.ownStatus?.rawValue
            }
        }
        #expect(try refusal(["https://app.example"]) == status)
        #expect(try refusal(["https://app.example", "none"]) == withNone)
    }

    @Test(
        arguments: [
            ("Sec-Fetch-Site: none", nil), ("Sec-Fetch-Site: same-origin", 403),
            ("Sec-Fetch-Site: same-site", 403), ("Sec-Fetch-Site: cross-site", 403),
            ("Origin: null", 403), ("Origin: https://app.example", nil),
            ("Origin: https://app.example.evil.example", 403), ("Sec-Purpose: prefetch", 403),
            ("Referer: http://evil.example/", 403), ("Sec-Fetch-Mode: websocket", nil),
        ] as [(String, Int?)]
    )
    func `only a listed origin admits a web page`(field: String, status: Int?) throws {
        let policy = AccessPolicy(origins: ["https://app.example"])
        #expect(try refusal(policy, field) == status)
    }

    @Test(arguments: [
        (["Sec-Fetch-Site: same-origin"], true), (["Sec-Fetch-Site: same-site"], false),
        (["Sec-Fetch-Site: same-origin", "Origin: http://localhost"], true),
        (["Sec-Fetch-Site: same-origin", "Origin: http://evil.example"], false),
        (["Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"], false),
    ])
    func `the pages of a channel without a credential load their own resources on its own host`(
        fields: [String],
        isAdmitted: Bool
    ) throws {
        let head = try head(["Host: localhost"] + fields)
        for rule in [RoutingRule.host, .listener, .path, .upstream] {
            for stake in [WebPagePolicy.Stake.nothing, .credential] {
                let pages = WebPagePolicy(stake: stake)
                let isOwn = stake == .nothing && (rule == .host || rule == .listener)
                let passes = (try? pages.check(head.headers, at: head.host, by: rule)) != nil
                #expect(passes == (isOwn && isAdmitted), "\(rule) \(stake)")
            }
        }
    }

    @Test(arguments: [
        ["Sec-Fetch-Site: none", "Sec-Fetch-Site: cross-site"],
        ["Origin: https://app.example", "Origin: https://evil.example"],
    ])
    func `a repeated field is checked every time`(fields: [String]) throws {
        let policy = AccessPolicy(origins: ["https://app.example"])
        #expect(try refusal(policy, fields[0], fields[1]) == 403)
    }

    @Test(arguments: [(1000, nil), (0, 403), (nil, 403)] as [(UInt32?, Int?)])
    func `a list of users admits clients by user ID over a unix socket`(
        user: UInt32?,
        status: Int?
    ) throws {
        #expect(try refusal(AccessPolicy(users: [1000]), user: user) == status)
        #expect(try refusal(AccessPolicy(), user: user) == nil)
    }

    @Test(
        arguments: [
            ("Bearer a:b", nil), ("bearer  a:b", nil), ("Basic dTphOmI=", nil),
            ("Bearer a", 401), ("Bearer a:b:c", 401), ("Basic dTpi", 401), ("Basic YTpi", 401),
            ("Token a:b", 401), ("a:b", 401), ("Bearer", 401),
        ] as [(String, Int?)]
    )
    func `a key is accepted as a bearer token or as the password of any user`(
        value: String,
        status: Int?
    ) throws {
        let policy = AccessPolicy(key: Secret("a:b"))
        #expect(try refusal(policy, "Proxy-Authorization: \(value)") == status)
    }

    @Test(
        arguments: [
            ("Authorization: Bearer sesame", nil), ("Authorization: Basic dTpzZXNhbWU=", nil),
            ("Authorization: Basic c2VzYW1lOg==", nil), ("Authorization: token sesame", nil),
            ("Authorization: Token token=\"sesame\", nonce=\"1\"", nil),
            ("Authorization: Klaviyo-API-Key sesame", nil), ("Authorization: a=sesame", 401),
            ("X-Key: sesame", nil), ("x-key: Token sesame", nil), ("X-Key: Bearer sesame", nil),
            ("Authorization: sesame", 401), ("Authorization: Bearer other", 401),
            ("X-Api-Key: sesame", 401), ("X-Key: other", 401),
        ] as [(String, Int?)]
    )
    func `a key is accepted in the field of the API key`(field: String, status: Int?) throws {
        let policy = AccessPolicy(key: Secret("sesame"), place: .header("X-Key"))
        #expect(try refusal(policy, field) == status)
        // A key in Proxy-Authorization decides, if there is one.
        #expect(try refusal(policy, "Proxy-Authorization: Bearer other", field) == 401)
    }

    @Test func `a key in the field of an API key is reported, so that it is not forwarded`() throws
    {
        let keys = ClientKeys()
        let grant = keys.issue(for: ["orders"], opening: [], .unknown)
        let policy = AccessPolicy(lent: ("orders", keys))
        func fields(_ value: String, _ others: String...) throws -> [HTTPFieldName] {
            let head = try head(["Host: localhost", "Authorization: \(value)"] + others)
            return try policy.check(head, isChannelHost: { _ in false }, userID: nil).fields
        }
        let shown = "Bearer \(grant.key.reveal())"
        #expect(try fields(shown) == [.authorization])
        #expect(try fields("Bearer the-app's-own") == [])
        // A program under `netproxy exec` can send it in both fields.
        #expect(try fields(shown, "Proxy-Authorization: \(shown)") == [.authorization])
        let elsewhere = keys.issue(for: ["bills"], opening: [], .unknown).key.reveal()
        #expect(throws: NetworkError.self) { try fields("Bearer \(elsewhere)") }
        keys.revokeAll()
        #expect(!keys.isAnyOut)
        #expect(try fields(shown) == [])
    }

    @Test func `a key that appears in two fields is removed from both`() throws {
        let policy = AccessPolicy(key: Secret("sesame"), place: .header("X-Key"))
        let head = try head(["Host: localhost", "Authorization: Bearer sesame", "X-Key: sesame"])
        let fields = try policy.check(head, isChannelHost: { _ in false }, userID: nil).fields
        #expect(fields == [.authorization, "X-Key"])
    }

    @Test(
        arguments: [
            ("X-Goog-Api-Key: sesame", "X-Goog-Api-Key"), ("Cookie: sesame", "Cookie"),
            ("X-Other: Bot sesame", "X-Other"), ("PRIVATE-TOKEN: sesame", "Private-Token"),
            ("X-Other: c2VzYW1l", nil), ("User-Agent: open sesame now", nil),
        ] as [(String, HTTPFieldName?)]
    )
    func `a key in any other field is refused and not forwarded`(
        field: String,
        found: HTTPFieldName?
    ) throws {
        let policy = AccessPolicy(key: Secret("sesame"), place: .header("X-Key"))
        #expect(try refusal(policy, field) == 401)
        let head = try head(["Host: localhost", "X-Key: sesame", field])
        let fields = try policy.check(head, isChannelHost: { _ in false }, userID: nil).fields
        #expect(fields == ["X-Key"] + (found.map { [$0] } ?? []))
    }

    @Test(
        arguments: [
            ("Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.sesame-1", "realtime"),
            ("Sec-WebSocket-Protocol: bearer, sesame-1, v2", "bearer, v2"),
            (
                "Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.c2VzYW1lLTE, v4.k8s.io",
                "v4.k8s.io"
            ),
            ("Sec-WebSocket-Protocol: c2VzYW1lLTE", nil),
            ("Cookie: a=b; k=sesame-1; c=d", "a=b; c=d"),
            ("X-Keys: one, sesame-1", "one"), ("X-Keys: one, \"sesame-1\"", "one"),
            ("X-Keys: one;key=sesame-1, two", "two"), ("X-Keys: key=sesame-1", nil),
            ("X-Keys: Bearer sesame-1, Bearer x", "Bearer x"),
        ] as [(String, String?)]
    )
    func `a key among the elements of a field is removed, and the other elements stay`(
        field: String,
        rest: String?
    ) throws {
        let policy = AccessPolicy(key: Secret("sesame-1"), place: .header("X-Key"))
        let isOpen = field.hasPrefix("Sec-WebSocket")
        #expect(try refusal(policy, field) == (isOpen ? nil : 401))
        let name = HTTPFieldName(stringLiteral: String(field.prefix { $0 != ":" }))
        var headers = try head(["Host: localhost", "X-Key: sesame-1", field]).headers
        let head = try head(["Host: localhost", "X-Key: sesame-1", field])
        try policy.check(head, isChannelHost: { _ in false }, userID: nil).remove(from: &headers)
        #expect(headers.values(of: name) == (rest.map { [$0] } ?? []))
        #expect(!headers.contains("X-Key"))
        let known = KnownKeys([policy]).shown(in: head)
        headers = head.headers
        known.remove(from: &headers)
        #expect(headers.values(of: name) == (rest.map { [$0] } ?? []))
    }

    @Test(
        arguments: [
            ("/a?x=1&token=sesame-1&y", "/a?x=1&y", 401), ("/a?sesame-1", "/a", 401),
            ("/a?k=%73esame-1", "/a", nil), ("/a?x=Bearer+sesame-1", "/a", 401),
            ("/a/sesame-1/b", "/a/sesame-1/b", 401), ("/a/sesame-1b", "/a/sesame-1b", 401),
        ] as [(String, String, Int?)]
    )
    func `a key in the target is removed from the query and refused in the path`(
        target: String,
        rest: String,
        status: Int?
    ) throws {
        let bytes = Array("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
        var decoder = RequestHeadDecoder()
        let head = try #require(try decoder.decode(bytes.span)).head
        let policy = AccessPolicy(key: Secret("sesame-1"), place: .query("k"))
        do throws(NetworkError) {
            let shown = try policy.check(head, isChannelHost: { _ in false }, userID: nil)
            #expect(shown.removed(from: target) == rest)
            #expect(status == nil)
        } catch {
            #expect(error.ownStatus?.rawValue == status)
        }
        #expect(KnownKeys([policy]).shown(in: head).removed(from: target) == rest)
    }

    @Test func `a lent key that does not open a channel is not forwarded to it`() throws {
        let keys = ClientKeys()
        let policy = AccessPolicy(key: Secret("own"), lent: ("orders", keys))
        let lent = keys.issue(for: ["orders"], opening: [], .unknown).key.reveal()
        let head = try head([
            "Host: localhost", "Proxy-Authorization: Bearer own", "X-Api-Key: \(lent)",
        ])
        let fields = try policy.check(head, isChannelHost: { _ in false }, userID: nil).fields
        #expect(fields == ["X-Api-Key"])
    }

    @Test(arguments: [
        ("GET", "http://orders.test/1", 407), ("GET", "/1", 401), ("OPTIONS", "*", 401),
    ])
    func `a missing key causes 401 or 407, depending on the form of the target`(
        method: String,
        target: String,
        status: Int
    ) throws {
        let bytes = Array("\(method) \(target) HTTP/1.1\r\nHost: orders.test\r\n\r\n".utf8)
        var decoder = RequestHeadDecoder()
        let head = try #require(try decoder.decode(bytes.span)).head
        let policy = AccessPolicy(key: Secret("sesame"))
        let error = #expect(throws: NetworkError.self) {
            try policy.check(head, isChannelHost: { _ in true }, userID: nil)
        }
        #expect(error?.ownStatus?.rawValue == status)
    }

    @Test func `a lent key is valid for its channels only`() throws {
        let keys = ClientKeys()
        let policy = AccessPolicy(key: Secret("own"), lent: ("orders", keys))
        for (channel, status) in [("orders", nil), ("bills", 401)] as [(String, Int?)] {
            let key = keys.issue(for: [channel], opening: [channel], .unknown).key.reveal()
            #expect(try refusal(policy, "Proxy-Authorization: Bearer \(key)") == status)
        }
        let closed = keys.issue(for: ["orders"], opening: [], .unknown).key.reveal()
        #expect(try refusal(policy, "Proxy-Authorization: Bearer \(closed)") == 401)
    }

    @Test func `a lent key for another channel is refused even if the channel requires no key`()
        throws
    {
        let keys = ClientKeys()
        let policy = AccessPolicy(lent: ("orders", keys))
        for (channels, status) in [(["orders"], nil), (["bills"], 401), (nil, nil)]
            as [(Set<String>?, Int?)]
        {
            let grant = keys.issue(for: channels, opening: [], .unknown)
            let field = "Proxy-Authorization: Bearer \(grant.key.reveal())"
            #expect(try refusal(policy, field) == status)
            keys.revoke(grant)
            // The revoked key is now like any other key that is not required.
            #expect(try refusal(policy, field) == nil)
        }
        #expect(try refusal(policy) == nil)
    }
}

extension AccessPolicy {
    /// Checks a request as the admission of a channel with all of these rules does.
    @discardableResult
    fileprivate func check(
        _ head: RequestHead,
        isChannelHost: (Authority) -> Bool,
        userID: UInt32?,
        localAddress: () -> SocketAddress? = { nil }
    ) throws(NetworkError) -> ShownKeys {
        try checkHost(head, isChannelHost: isChannelHost, localAddress: localAddress)
        try pages.check(head.headers, at: head.host)
        if listsUsers { try checkUser(userID) }
        return try checkKey(head, role: PerceivedRole(head.target))
    }
}

extension SocketPeer {
    fileprivate static let unknown = SocketPeer(address: "unix", process: nil)
}
