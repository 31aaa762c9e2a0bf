import NetworkCore
import OAuth
import Synchronization
import TestSupport
import Testing

/// Nonces of an API that change during token requests, requests and uploads (RFC 9449 §9).
@Suite struct ProofNonceTests {
    @Test func `a probe with a new token is repeated with the missing nonce`()
        async throws
    {
        let door = Door()
        let session = try BoundSession(
            login: { _, count in BoundSession.token(count, nonce: nil) },
            origin: { arrived, _ in
                guard arrived.token == "DPoP token-2" else { return Response(status: 200) }
                return try BoundSession.challenging("r2", arrived) ?? Response(status: 200)
            },
            door: door
        )
        #expect(try await session.send().response.status == 200)
        door.close()
        _ = await session.manager.rejected(
            Rejection(
                generation: 1,
                headers: [.wwwAuthenticate: #"DPoP error="invalid_token""#],
                intent: .report(.bodyNotReplayable)
            )
        )
        let statuses = Collected<HTTPStatus>()
        for _ in 0..<12 {
            Task {
                let status = try await session.send().response.status
                statuses.add(status)
            }
        }
        #expect(await eventually { await session.manager.status().waiters == 12 })
        door.open()
        // The clock stands still: no request waits for the end of the trial's two seconds.
        #expect(await eventually { statuses.all.count == 12 })
        #expect(statuses.all.allSatisfy { $0 == 200 })
        #expect(session.login.arrived.count == 2)
        #expect(session.origin.arrived.count == 14, "one of twelve met the nonce")
    }

    @Test func `an upload that cannot be replayed ends the probe`() async throws {
        let door = Door()
        let session = try BoundSession(door: door)
        _ = try await session.send()
        door.close()
        let refused: HTTPHeaders = [.wwwAuthenticate: #"DPoP error="invalid_token""#]
        _ = await session.manager.rejected(
            Rejection(generation: 1, headers: refused, intent: .report(.bodyNotReplayable))
        )
        let credentials = Collected<Credential>()
        for _ in 0..<12 {
            Task {
                let credential = try await session.manager.credential(until: nil)
                credentials.add(credential)
            }
        }
        #expect(await eventually { await session.manager.status().waiters == 12 })
        door.open()
        #expect(await eventually { credentials.all.count == 1 })
        let headers: HTTPHeaders = [.wwwAuthenticate: #"DPoP error="use_dpop_nonce""#]
        let verdict = await session.manager.rejected(
            Rejection(generation: 2, headers: headers, intent: .report(.bodyNotReplayable))
        )
        #expect(verdict == .passThrough(.bodyNotReplayable))
        #expect(await eventually { credentials.all.count == 12 })
    }

    @Test func `a token for one use is sent again with the nonce, and no other is fetched`()
        async throws
    {
        let session = try BoundSession(
            login: { _, count in
                let text =
                    #"{"access_token":"once-\#(count)","token_type":"DPoP","expires_in":0}"#
                return BoundSession.refusal(200, text, nonce: nil)
            },
            origin: { arrived, _ in
                try BoundSession.challenging("r1", arrived) ?? Response(status: 200)
            }
        )
        #expect(try await session.send().response.status == 200)
        #expect(session.origin.arrived.map(\.token) == ["DPoP once-0", "DPoP once-0"])
        #expect(session.login.arrived.count == 1)
    }

    @Test func `a long upload sends Expect when the nonce may have expired`() async throws {
        let session = try BoundSession()
        let origin = RotatingOrigin()
        func upload() async throws -> HTTPStatus {
            let source = PiecedBody(["one", "two", "six"])
            let request = Request(
                method: .post,
                origin: BoundSession.api,
                target: "/",
                body: .stream(source, length: 9)
            )
            var context = RequestContext()
            return try await session.chain(origin, replayLimit: 4)
                .send(request, context: &context).status
        }
        #expect(try await upload() == 200)
        #expect(origin.seen == ["asked: 401", "onetwosix: 200"], "the token has not served yet")
        #expect(try await upload() == 200)
        #expect(origin.seen.last == "onetwosix: 200", "the nonce is a new one")
        session.clock.advance(by: .seconds(30))
        origin.rotate()
        #expect(try await upload() == 200)
        #expect(origin.seen.suffix(2) == ["asked: 401", "onetwosix: 200"])
    }
}

/// The results of tasks, in order.
private final class Collected<Item: Sendable>: Sendable {
    private let items = Mutex<[Item]>([])
    var all: [Item] { items.withLock { $0 } }
    func add(_ item: Item) { items.withLock { $0.append(item) } }
}

/// Requires a changing nonce, and checks it before it reads the body if the request expects that.
private final class RotatingOrigin: HTTPTransport {
    private struct State {
        var nonce = 1
        var seen: [String] = []
    }

    private let state = Mutex(State())

    var seen: [String] { state.withLock { $0.seen } }
    func rotate() { state.withLock { $0.nonce += 1 } }

    func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        let nonce = state.withLock { "r\($0.nonce)" }
        let isGood = try Proof(request.headers[.dpop]).claims["nonce"] as? String == nonce
        let asks = request.headers[.expect] != nil
        var text = asks ? "asked" : ""
        if !asks || isGood {
            let body = try await request.body.collect(upTo: 1 << 20)
            text += String(decoding: body.array, as: UTF8.self)
        } else {
            request.body.cancel()
        }
        let status: HTTPStatus = isGood ? 200 : 401
        state.withLock { $0.seen.append("\(text): \(status)") }
        let error = isGood ? nil : "use_dpop_nonce"
        return BoundSession.refusal(status, "", nonce: nonce, error: error)
    }
}

/// A server behind a door.
struct BehindDoor: HTTPTransport {
    let server: any HTTPTransport
    let door: Door

    func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        await door.pass()
        return try await server.send(request, context: &context)
    }
}
