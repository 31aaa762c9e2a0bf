import FoundationEssentials
import NetproxyPresets
import TestSupport
import Testing

/// Every preset in front of an upstream that makes the demands stated beside it.
@Suite struct PresetStory {
    private static let token = "c4nary-token"

    private static func value(of parameter: ProviderPreset.Parameter) -> String {
        parameter.kind == .secret ? "c4nary-\(parameter.name)" : parameter.example ?? ""
    }

    /// The demanded value, as it must arrive; a value that ends with … is a prefix.
    private static func expected(_ demand: String, of preset: ProviderPreset) -> String {
        var text = demand
        for parameter in preset.parameters {
            text.replace("{\(parameter.name)}", with: value(of: parameter))
        }
        guard let credentials = text.wholeMatch(of: /Basic (.*)/)?.1 else { return text }
        return "Basic \(Data(credentials.utf8).base64EncodedString())"
    }

    /// Returns the demands that a request does not meet, and the other fields with a credential.
    private static func faults(of request: RawMessage, _ preset: ProviderPreset) -> [String] {
        var faults: [String] = []
        for (name, demand) in preset.demands {
            let expected = expected(demand, of: preset)
            let value = request[name] ?? ""
            let isMet =
                expected.hasSuffix("…")
                ? value.hasPrefix(expected.dropLast()) && !value.isEmpty : value == expected
            if !isMet { faults.append("\(name): \(request.values(name)) is not \(expected)") }
        }
        let demanded = Set(preset.demands.map { $0.name.lowercased() })
        for (name, value) in request.fields
        where value.contains("c4nary") && !demanded.contains(name.lowercased()) {
            faults.append("\(name) has a credential")
        }
        if request.startLine.contains("c4nary") { faults.append("the target has a credential") }
        return faults
    }

    private static func upstream(_ preset: ProviderPreset) async throws -> OriginServer {
        try await OriginServer.start { request in
            if request.startLine.hasPrefix("POST /token ") {
                return Raw.ok(
                    #"{"access_token":"\#(token)","token_type":"Bearer","expires_in":3600}"#,
                    "Content-Type: application/json"
                )
            }
            let faults = faults(of: request, preset)
            return faults.isEmpty
                ? Raw.ok() : Raw.response("401 Unauthorized", body: faults.joined(separator: "\n"))
        }
    }

    private static func channel(_ preset: ProviderPreset, at base: String) -> String {
        let with = preset.parameters.filter { $0.name != "ca" }.map { parameter in
            let value = value(of: parameter)
            return "\(parameter.name): '\(parameter.kind == .secret ? "literal:" : "")\(value)'"
        }
        let keys = [
            "preset: \(preset.name)", "with: { \(with.joined(separator: ", ")) }",
            "upstream: '\(base)/base'",
        ]
        // A refresh token in place of the sign-in.
        let signIn = "auth: { oauth: { token_url: '\(base)/token', refresh_token: 'literal:r' } }"
        let all = keys + (preset.needsSignIn ? [signIn] : [])
        return "api: { \(all.joined(separator: ", ")) }"
    }

    @Test(arguments: PresetCatalog.names)
    func `a request with the preset meets the demands of the provider`(name: String) async throws {
        let preset = try #require(PresetCatalog.preset(named: name))
        let origin = try await Self.upstream(preset)
        let base = "http://127.0.0.1:\(origin.port)"
        try await DaemonHarness.run(channels: Self.channel(preset, at: base)) { proxy in
            // A path and a method that every preset's access permits.
            let isUpload = preset.name == "pypi"
            let answer = try await proxy.exchange(
                isUpload ? Raw.post("/api/legacy/", body: "x") : Raw.get("/api/v1/items?limit=1")
            )
            #expect(answer.status == 200, "\(answer.body)")
        }
    }

    @Test func `the model upstream refuses a request without the credential`() async throws {
        let preset = try #require(PresetCatalog.preset(named: "anthropic"))
        let origin = try await Self.upstream(preset)
        let upstream = "upstream: 'http://127.0.0.1:\(origin.port)'"
        try await DaemonHarness.run(channels: "api: { \(upstream) }") { proxy in
            let answer = try await proxy.exchange(Raw.get("/api/v1/models"))
            #expect(answer.status == 401)
            #expect(answer.body.contains("anthropic-version"))
        }
    }
}
