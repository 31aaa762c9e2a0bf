import NetproxyChannels
import NetworkCore
import Synchronization
import TestSupport
import Testing

/// A credential that stands in a file, without the file.
@Suite struct RotatingAuthorizerTests {
    private struct Unreadable: Error {}

    /// What stands in the file, and what was told of it.
    private final class File: Sendable {
        private let content: Mutex<String?>
        let readings = Counter()
        let changes = Counter()
        let faults = Counter()
        private let gate: Gate

        /// A gate is what every reading waits for.
        init(_ content: String, gate: Gate? = nil) {
            self.content = Mutex(content)
            self.gate = gate ?? Gate()
            if gate == nil { self.gate.open() }
        }

        func write(_ new: String?) { content.withLock { $0 = new } }

        func read() async throws -> StaticAuthorizer {
            _ = readings.next()
            try await gate.wait()
            guard let content = content.withLock({ $0 }) else { throw Unreadable() }
            return try .bearer(Secret(content))
        }

        func authorizer(_ effort: RotatingAuthorizer.Effort = .file) throws -> RotatingAuthorizer {
            let first = try StaticAuthorizer.bearer(Secret("one"))
            return RotatingAuthorizer(
                first,
                effort: effort,
                read: { try await self.read() },
                onChange: { self.changes.add(1) },
                onFault: { _ in self.faults.add(1) }
            )
        }
    }

    private func refusal(_ generation: Int?, _ intent: Rejection.Intent = .replay) -> Rejection {
        Rejection(generation: generation, headers: [:], intent: intent)
    }

    @Test(
        arguments: [
            (.replay, .replay),
            (.report(.bodyNotReplayable), .passThrough(.bodyNotReplayable)),
            (.report(.replayOff), .passThrough(.replayOff)),
            (.afterReplay, .passThrough(.alreadyReplayed)),
        ] as [(Rejection.Intent, Verdict)]
    )
    func `after a 401 what stands in the file is used`(
        intent: Rejection.Intent,
        verdict: Verdict
    ) async throws {
        let file = File("two")
        let authorizer = try file.authorizer()
        #expect(authorizer.kind == "bearer")
        #expect(authorizer.currentCredential()?.value == Secret("Bearer one"))
        #expect(await authorizer.rejected(refusal(1, intent)) == verdict)
        let credential = try #require(authorizer.currentCredential())
        #expect(credential.value == Secret("Bearer two"))
        #expect(credential.generation == 2)
        #expect(file.changes.value == 1)
    }

    @Test func `the same content is no other credential`() async throws {
        let file = File("one")
        let authorizer = try file.authorizer()
        let before = authorizer.currentCredential()
        #expect(await authorizer.rejected(refusal(1)) == .passThrough(.staticCredential))
        #expect(authorizer.currentCredential() == before)
        #expect(file.changes.value == 0)
        // It is looked at each time: the file may be replaced a moment later.
        file.write("two")
        #expect(await authorizer.rejected(refusal(1)) == .replay)
    }

    @Test(arguments: [nil, "", "t\u{7}wo"])
    func `what cannot be used leaves everything as it is`(content: String?) async throws {
        let file = File("one")
        file.write(content)
        let authorizer = try file.authorizer()
        #expect(await authorizer.rejected(refusal(1)) == .passThrough(.staticCredential))
        #expect(authorizer.currentCredential()?.value == Secret("Bearer one"))
        #expect(file.faults.value == 1)
        file.write("two")
        #expect(await authorizer.rejected(refusal(1)) == .replay)
    }

    @Test func `a late 401 to an earlier content needs no look`() async throws {
        let file = File("two")
        let authorizer = try file.authorizer()
        _ = await authorizer.rejected(refusal(1))
        #expect(await authorizer.rejected(refusal(1)) == .replay)
        #expect(file.readings.value == 1)
        #expect(await authorizer.rejected(refusal(2)) == .passThrough(.staticCredential))
        #expect(file.readings.value == 2)
    }

    @Test func `a request without our credential does not concern it`() async throws {
        let file = File("two")
        let authorizer = try file.authorizer()
        #expect(await authorizer.rejected(refusal(nil)) == .passThrough(.staticCredential))
        #expect(file.readings.value == 0)
    }

    @Test func `many that are refused together get the same one`() async throws {
        let gate = Gate()
        let file = File("two", gate: gate)
        let authorizer = try file.authorizer()
        let verdicts = await withTaskGroup { group in
            for _ in 0..<8 {
                let refusal = refusal(1)
                group.addTask { await authorizer.rejected(refusal) }
            }
            #expect(await eventually { file.readings.value == 1 })
            gate.open()
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(verdicts.allSatisfy { $0 == .replay })
        #expect(authorizer.currentCredential()?.generation == 2)
        #expect(file.readings.value == 1)
        #expect(file.changes.value == 1)
    }

    @Test func `who gives up leaves the look to the others`() async throws {
        let gate = Gate()
        let file = File("two", gate: gate)
        let authorizer = try file.authorizer()
        let (first, second) = (refusal(1), refusal(1))
        let impatient = Task { await authorizer.rejected(first) }
        #expect(await eventually { file.readings.value == 1 })
        let patient = Task { await authorizer.rejected(second) }
        impatient.cancel()
        #expect(await impatient.value == .passThrough(.staticCredential))
        gate.open()
        #expect(await patient.value == .replay)
        #expect(file.readings.value == 1)
    }

    @Test(arguments: [(.zero, 2), (.seconds(3600), 1)] as [(Duration, Int)])
    func `what costs more than a read is not done for every 401`(
        pause: Duration,
        readings: Int
    ) async throws {
        let file = File("one")
        let authorizer = try file.authorizer(.init(patience: .seconds(5), pause: pause))
        for _ in 1...2 {
            #expect(await authorizer.rejected(refusal(1)) == .passThrough(.staticCredential))
        }
        #expect(file.readings.value == readings)
    }
}
