import NetproxyChannels
import NetworkCore
import Synchronization
import TestSupport
import Testing

/// A credential from a file, without the file.
@Suite struct RotatingAuthorizerTests {
    private struct Unreadable: Error {}

    /// The content of the file, and the reported changes and faults.
    private final class File: Sendable {
        private let content: Mutex<String?>
        let readings = Counter()
        let changes = Counter()
        let faults = Counter()
        private let gate: Gate

        /// Every read waits for the gate, if there is one.
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
    func `a 401 causes the content of the file to be used`(
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

    @Test func `unchanged content is not a new credential`() async throws {
        let file = File("one")
        let authorizer = try file.authorizer()
        let before = authorizer.currentCredential()
        #expect(await authorizer.rejected(refusal(1)) == .passThrough(.staticCredential))
        #expect(authorizer.currentCredential() == before)
        #expect(file.changes.value == 0)
        // The file is read each time, because it can be replaced a moment later.
        file.write("two")
        #expect(await authorizer.rejected(refusal(1)) == .replay)
    }

    @Test(arguments: [nil, "", "t\u{7}wo"])
    func `unusable content leaves the credential unchanged`(content: String?) async throws {
        let file = File("one")
        file.write(content)
        let authorizer = try file.authorizer()
        #expect(await authorizer.rejected(refusal(1)) == .passThrough(.staticCredential))
        #expect(authorizer.currentCredential()?.value == Secret("Bearer one"))
        #expect(file.faults.value == 1)
        file.write("two")
        #expect(await authorizer.rejected(refusal(1)) == .replay)
    }

    @Test func `a late 401 for an earlier credential causes no read`() async throws {
        let file = File("two")
        let authorizer = try file.authorizer()
        _ = await authorizer.rejected(refusal(1))
        #expect(await authorizer.rejected(refusal(1)) == .replay)
        #expect(file.readings.value == 1)
        #expect(await authorizer.rejected(refusal(2)) == .passThrough(.staticCredential))
        #expect(file.readings.value == 2)
    }

    @Test func `a request without the credential causes no read`() async throws {
        let file = File("two")
        let authorizer = try file.authorizer()
        #expect(await authorizer.rejected(refusal(nil)) == .passThrough(.staticCredential))
        #expect(file.readings.value == 0)
    }

    @Test func `concurrent refusals share one read`() async throws {
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

    @Test func `a canceled caller leaves the read to the others`() async throws {
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
    func `an expensive read is not repeated for every 401`(
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
