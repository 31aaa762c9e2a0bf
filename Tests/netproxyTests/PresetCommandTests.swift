import ArgumentParser
import NetproxyPresets
import Testing

@testable import netproxy

/// The output of `netproxy preset`.
@Suite struct PresetCommandTests {
    @Test func `the list has a line for each provider`() {
        let lines = PresetCommand.list.split(separator: "\n")
        #expect(lines.count == PresetCatalog.names.count)
        #expect(lines[1] == "anthropic     Anthropic API (Claude)")
    }

    @Test func `a preset shows channel, parameters, source and date`() throws {
        let lines = try PresetCommand.preset("anthropic").lines(keysIn: "/keys")
        for line in [
            "      key: \"file:/keys/anthropic.key\"",
            "    upstream: https://api.anthropic.com",
            "        from: https://platform.claude.com/settings/keys",
            "        exec --with reads: $ANTHROPIC_API_KEY", "Checked on 2026-11-28 against:",
            "Without a configuration: netproxy exec --with anthropic -- PROGRAM",
        ] {
            #expect(lines.contains(line), "\(line)")
        }
    }

    @Test func `an unknown preset is wrong usage`() throws {
        #expect(throws: ExitCode.validationFailure) { try PresetCommand.preset("antropic") }
    }
}
