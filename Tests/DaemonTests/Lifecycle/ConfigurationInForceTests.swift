import NetproxyConfig
import Testing

@testable import NetproxyService

/// The active configuration and the outcome of the last reload.
@Suite struct ConfigurationInForceTests {
    private func load(_ line: String) throws -> ProxyConfiguration {
        try ConfigurationLoader.load(
            text: "\(line)\nchannels: { orders: { upstream: https://a.example } }",
            file: "n.yaml",
            environment: ["HOME": "/home/someone"]
        ).get()
    }

    @Test(
        arguments: [
            ("workers", "workers: 2"), ("admin", "admin: off"),
            ("log.output", "log: { output: stdout }"), ("log.format", "log: { format: ecs }"),
            ("state", "admin: unix:/run/a.sock\nstate: /elsewhere"), (nil, "drain: 1s"),
        ] as [(String?, String)]
    )
    func `a changed key that requires a restart is reported`(key: String?, line: String) throws {
        let keys = try load(line.hasPrefix("admin: unix") ? "admin: unix:/run/a.sock" : "")
            .needingRestart(comparedTo: load(line))
        #expect(keys == (key.map { [$0] } ?? []))
    }

    @Test func `keys are compared with those of the start, not of the last reload`() throws {
        var inForce = ConfigurationInForce(try load("workers: 1"), at: 1)
        #expect(try inForce.replace(with: load("workers: 2"), at: 2) == ["workers"])
        #expect(try inForce.replace(with: load("workers: 2"), at: 3) == ["workers"])
        #expect(try inForce.replace(with: load("workers: 1"), at: 4) == [])
    }

    @Test func `a refusal is kept until a reload succeeds`() throws {
        var inForce = ConfigurationInForce(try load(""), at: 1)
        inForce.refuse(["unknown key"], at: 2)
        #expect(inForce.refusal?.reasons == ["unknown key"])
        #expect((inForce.loadedAt, inForce.refusal?.at) == (1, 2))
        #expect(inForce.current == inForce.initial)
        _ = inForce.replace(with: try load("drain: 1s"), at: 3)
        #expect(inForce.refusal?.reasons == nil)
        #expect((inForce.loadedAt, inForce.refusal?.at) == (3, nil))
    }
}
