import NetproxyCommands
import NetproxyPresets
import Testing

/// The values of a preset's parameters for `netproxy exec --with`.
@Suite struct PresetParametersTests {
    private func preset(_ name: String) throws -> ProviderPreset {
        try #require(PresetCatalog.preset(named: name))
    }

    private func parameters(
        _ settings: [String] = [],
        _ environment: [String: String] = [:],
        typed: String? = nil
    ) -> PresetParameters {
        PresetParameters(
            settings: settings.compactMap(PresetSetting.init),
            environment: environment,
            prompt: { _, _ in typed }
        )
    }

    private func values(_ prepared: PreparedPreset) -> [String: PreparedPreset.Value] {
        Dictionary(uniqueKeysWithValues: prepared.values.map { ($0.parameter.name, $0.value) })
    }

    @Test func `a value comes from the command line, the variable or the prompt, in this order`()
        throws
    {
        let openai = try preset("openai")
        let variable = ["OPENAI_API_KEY": "from-variable"]
        let set = try parameters(["key=from-option"], variable, typed: "typed").prepare([openai])
        #expect(values(set[0]) == ["key": .secret("from-option")])
        let read = try parameters([], variable, typed: "typed").prepare([openai])
        #expect(values(read[0]) == ["key": .secret("from-variable")])
        let asked = try parameters([], ["OPENAI_API_KEY": ""], typed: "typed").prepare([openai])
        #expect(values(asked[0]) == ["key": .secret("typed")])
    }

    @Test func `the first variable that is set counts`() throws {
        let gemini = try preset("gemini")
        let both = ["GEMINI_API_KEY": "second", "GOOGLE_API_KEY": "first"]
        #expect(try values(parameters([], both).prepare([gemini])[0]) == ["key": .secret("first")])
    }

    @Test func `a secret on the command line may be a reference, and an upstream is no parameter`()
        throws
    {
        let settings = ["key=file:/k", "upstream=http://127.0.0.1:1"]
        let prepared = try parameters(settings).prepare([try preset("openai")])
        #expect(values(prepared[0]) == ["key": .reference("file:/k")])
        #expect(prepared[0].upstream == "http://127.0.0.1:1")
    }

    @Test func `optional parameters are not asked for`() throws {
        let aws = try preset("aws")
        let environment = [
            "AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "eu-west-1",
        ]
        let prepared = try parameters([], environment).prepare([aws])
        #expect(
            values(prepared[0]) == [
                "access_key_id": .text("AKID"), "secret_access_key": .secret("s"),
                "region": .text("eu-west-1"),
            ]
        )
    }

    @Test func `without a terminal the reason names the variable`() throws {
        #expect(
            throws: PresetParameters.Failure.missing(
                "anthropic needs key: set ANTHROPIC_API_KEY, or --set key=… "
                    + "(https://platform.claude.com/settings/keys)"
            )
        ) {
            try parameters().prepare([try preset("anthropic")])
        }
    }

    @Test(arguments: [
        (["keys=a"], "--set keys: openai has the parameters key, upstream"),
        (["stripe.key=a"], "--set: there is no --with stripe"),
    ])
    func `a setting of no parameter is wrong usage`(settings: [String], reason: String) throws {
        #expect(throws: PresetParameters.Failure.usage(reason)) {
            try parameters(settings).prepare([try preset("openai")])
        }
    }

    @Test func `a setting for several presets names its preset`() throws {
        let both = [try preset("openai"), try preset("stripe")]
        #expect(throws: PresetParameters.Failure.self) {
            try parameters(["key=a"], typed: "x").prepare(both)
        }
        let prepared = try parameters(["openai.key=a", "stripe.key=b"]).prepare(both)
        #expect(prepared.map { values($0) } == [["key": .secret("a")], ["key": .secret("b")]])
    }

    @Test func `a preset with a sign-in leads to the configuration`() throws {
        let google = try preset("google")
        do throws(PresetParameters.Failure) {
            _ = try parameters(typed: "x").prepare([google])
            Issue.record("the preset is accepted")
        } catch {
            guard case .missing(let reason) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(reason.contains("netproxy login google"))
        }
    }

    @Test func `a variable or a setting keeps a configured channel out`() throws {
        let openai = [try preset("openai")]
        #expect(!parameters().hasOwnValues(for: openai))
        #expect(parameters(["key=a"]).hasOwnValues(for: openai))
        #expect(parameters([], ["OPENAI_API_KEY": "a"]).hasOwnValues(for: openai))
    }
}
