import ArgumentParser
import FoundationEssentials
import NetproxyCommands
import NetproxyConfig
import NetproxyPresets
import NetproxyService
import NetproxySystem

/// The options of `netproxy exec` for built-in providers.
struct PresetOptions: ParsableArguments {
    @Option(
        name: .customLong("with"),
        help: """
            A built-in provider for the program; may be repeated. Its key comes from --set, else from the \
            provider's usual variable, which the program does not inherit, else from a prompt.
            """,
        completion: .presets
    )
    var names: [String] = []
    @Option(
        name: .customLong("set"),
        help: ArgumentHelp(
            "A parameter of --with, or upstream; a secret may be file:/path.",
            valueName: "parameter=value"
        )
    )
    var settings: [String] = []
    @Flag(
        help: "Add the channels of --with to the configuration, and the secrets to files beside it."
    )
    var save = false

    func validate() throws {
        guard !names.isEmpty || settings.isEmpty && !save else {
            throw ValidationError("--set and --save need --with")
        }
        for text in settings where PresetSetting(text) == nil {
            throw ValidationError("--set: expected PARAMETER=VALUE or PRESET.PARAMETER=VALUE")
        }
    }

    /// Runs a program with the presets, and ends the command with its exit code.
    func run(_ command: [String], _ file: ConfigurationOption) async throws -> Never {
        let presets = try names.map(PresetCommand.preset)
        let environment = ProcessInfo.processInfo.environment
        let withheld = presets.flatMap(\.withheldVariables)
        let parameters = PresetParameters(
            settings: settings.compactMap(PresetSetting.init),
            environment: environment,
            prompt: PresetOptions.ask
        )
        if !save, !parameters.hasOwnValues(for: presets),
            let held = await RunningPresets(file).hold(presets)
        {
            defer { held.answer.close() }
            try await LeasedProgram.run(command, held.lease, withholding: withheld)
        }
        let prepared = try prepare(presets, parameters)
        if save { try store(prepared, file, environment) }
        let (instance, lease) = try await PresetOptions.start(prepared, environment)
        do {
            try await LeasedProgram.run(command, lease, withholding: withheld)
        } catch {
            await instance.stop()
            throw error
        }
    }

    private func prepare(
        _ presets: [ProviderPreset],
        _ parameters: PresetParameters
    ) throws -> [PreparedPreset] {
        do throws(PresetParameters.Failure) {
            return try parameters.prepare(presets)
        } catch {
            switch error {
            case .usage(let reason): try StandardError.fail(reason, .validationFailure)
            case .missing(let reason): try StandardError.fail(reason, ExitStatus.configuration)
            case .canceled: throw ExitStatus.interrupted
            }
        }
    }

    private static func ask(
        _ question: String,
        _ kind: ProviderPreset.Parameter.Kind
    ) throws(PresetParameters.Failure) -> String? {
        while true {
            switch TerminalPrompt.ask(question, kind == .secret ? .hidden : .shown) {
            case .line(let line) where line.isEmpty: continue
            case .line(let line): return line
            case .canceled: throw .canceled
            case .noTerminal: return nil
            }
        }
    }

    private func store(
        _ prepared: [PreparedPreset],
        _ file: ConfigurationOption,
        _ environment: [String: String]
    ) throws {
        guard let path = InitCommand.path(file, environment) else {
            try StandardError.fail("cannot save: neither HOME nor --config names a file")
        }
        do throws(SavedPresets.Failure) {
            let files = try SavedPresets(to: path, environment: environment).save(prepared)
            StandardError.write("netproxy: saved \(files.joined(separator: ", "))")
        } catch {
            try StandardError.fail(error.description)
        }
    }

    private static func start(
        _ prepared: [PreparedPreset],
        _ environment: [String: String]
    ) async throws -> (PrivateInstance, ClientLease) {
        do {
            let instance = try PrivateInstance(prepared, environment: environment) { line in
                StandardError.report("netproxy: \(line)")
            }
            return (instance, try await instance.start())
        } catch let errors as ConfigurationErrors {
            for error in errors.errors { StandardError.write("netproxy: \(error)") }
            throw ExitStatus.configuration
        } catch {
            try StandardError.fail("\(error)")
        }
    }
}

/// The channels of a running daemon that have presets.
private struct RunningPresets {
    private let configuration: ProxyConfiguration?

    init(_ file: ConfigurationOption) {
        let found = ConfigurationFile(path: file.config, reader: .command).read(.text)
        if case .success(let configuration) = found {
            self.configuration = configuration
        } else {
            configuration = nil
        }
    }

    /// Returns a key for a channel of each preset; `nil` unless a daemon has all of them.
    func hold(_ presets: [ProviderPreset]) async -> (answer: HeldResponse, lease: ClientLease)? {
        guard let configuration else { return nil }
        let channels = presets.compactMap { preset in
            configuration.channels.first { $0.preset == preset.name }?.name
        }
        guard channels.count == presets.count else { return nil }
        let query = AdminQuery(channels.map { (name: "channel", value: $0) })
        do {
            let held = try await AdminClient(configuration.admin).hold(.keys, query)
            if held.answer.status == 200, let lease = ClientLease(json: held.answer.text) {
                return (held, lease)
            }
            held.close()
            return nil
        } catch {
            // Without a daemon, a private instance serves the program.
            return nil
        }
    }
}
