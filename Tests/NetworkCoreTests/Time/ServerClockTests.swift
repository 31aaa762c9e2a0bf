import NetworkCore
import TestSupport
import Testing

@Suite struct ServerClocks {
    private func headers(_ date: String) throws -> HTTPHeaders {
        var headers: HTTPHeaders = [:]
        headers.append(try #require(HTTPField(.date, date)))
        return headers
    }

    @Test func `the clock learns that the server is ahead`() throws {
        // The manual clock starts at 2027-01-15 08:00:00.
        let clock = ManualClock()
        let server = ServerClock(clock: clock)
        server.learn(from: try headers("Fri, 15 Jan 2027 08:10:00 GMT"))
        #expect(server.offset == .seconds(600))
        clock.advance(by: .seconds(5))
        #expect(server.now == clock.wallNow + .seconds(600))
        server.learn(from: try headers("Fri, 15 Jan 2027 07:50:05 GMT"))
        #expect(server.offset == .seconds(-600))
    }

    @Test func `the server's time stays correct after our clock is set`() throws {
        let clock = ManualClock()
        let server = ServerClock(clock: clock)
        server.learn(from: try headers("Fri, 15 Jan 2027 09:00:00 GMT"))
        clock.advance(by: .seconds(60))
        clock.setWall(by: .seconds(3600))
        #expect(server.offset == .zero)
        clock.setWall(by: .seconds(600))
        #expect(server.offset == .seconds(-600))
        #expect(server.now == UnixTime(secondsSinceEpoch: 1_800_003_660))
    }

    @Test(arguments: ["Fri, 15 Jan 2027 08:00:04 GMT", "Fri, 15 Jan 2027 07:59:57 GMT"])
    func `an offset within the transfer time is ignored`(_ date: String) throws {
        let server = ServerClock(clock: ManualClock())
        server.learn(from: try headers(date))
        #expect(server.offset == .zero)
    }

    @Test func `an offset of five seconds counts`() throws {
        let server = ServerClock(clock: ManualClock())
        server.learn(from: try headers("Fri, 15 Jan 2027 08:00:05 GMT"))
        #expect(server.offset == .seconds(5))
    }

    @Test func `a cached response does not set the clock`() throws {
        let server = ServerClock(clock: ManualClock())
        for (age, offset) in [("3600", 0), ("0", -3600), ("1", -3600)] {
            var answer = try headers("Fri, 15 Jan 2027 07:00:00 GMT")
            answer.append(try #require(HTTPField(.age, age)))
            server.learn(from: answer)
            #expect(server.offset == .seconds(offset), "Age: \(age)")
        }
    }

    @Test(arguments: [
        ("Sat, 16 Jan 2027 08:00:00 GMT", 86_400), ("Thu, 14 Jan 2027 08:00:00 GMT", -86_400),
        ("Sat, 16 Jan 2027 08:00:01 GMT", 0), ("Thu, 14 Jan 2027 07:59:59 GMT", 0),
        ("Fri, 31 Dec 9998 00:00:00 GMT", 0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ])
    func `a date further off than a day does not set the clock`(
        date: String,
        offset: Int
    ) throws {
        let server = ServerClock(clock: ManualClock())
        server.learn(from: try headers(date))
        #expect(server.offset == .seconds(offset))
    }

    @Test func `an invalid date does not set the clock`() throws {
        let server = ServerClock(clock: ManualClock())
        server.learn(from: try headers("Fri, 15 Jan 2027 08:10:00 GMT"))
        server.learn(from: [:])
        server.learn(from: try headers("yesterday"))
        #expect(server.offset == .seconds(600))
    }

    @Test func `the most precise response of the last second sets the clock`() {
        let clock = ManualClock(wall: 1_799_996_400)
        let serverClock = ServerClock(clock: clock)
        func learn() { serverClock.learn(from: [.date: "Fri, 15 Jan 2027 08:00:00 GMT"]) }
        learn()
        let first = serverClock.now
        clock.advance(by: .milliseconds(700))
        // `Date` omits 700 ms, which are known from the response before.
        learn()
        #expect(serverClock.now == first + .milliseconds(700))
        // The server's clock was set back.
        clock.advance(by: .seconds(2))
        learn()
        #expect(serverClock.now == first)
    }
}
