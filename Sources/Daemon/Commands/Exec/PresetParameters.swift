import NetproxyConfig
package import NetproxyPresets

/// A preset with the values of its parameters, for one run of a program.
package struct PreparedPreset: Sendable {
    /// The value of a parameter.
    package enum Value: Sendable, Equatable {
        case text(String)
        /// A secret itself.
        case secret(String)
        /// A reference to a secret, as in a configuration.
        case reference(String)
    }

    package let preset: ProviderPreset
    package var values: [(parameter: ProviderPreset.Parameter, value: Value)] = []
    /// The URL in place of the preset's upstream.
    package var upstream: String?
}

/// A value on the command line: `--set PARAMETER=VALUE` or `--set PRESET.PARAMETER=VALUE`.
package struct PresetSetting: Sendable {
    /// The preset; `nil` for the only one.
    let preset: String?
    let parameter: String
    let value: String
    /// The name of the setting of the upstream.
    static let upstream = "upstream"

    /// Parses the option; `nil` without a name or a value.
    package init?(_ text: String) {
        guard let equals = text.firstIndex(of: "="), equals > text.startIndex else { return nil }
        let name = text[..<equals].split(separator: ".", omittingEmptySubsequences: false)
        value = String(text[text.index(after: equals)...])
        guard name.count < 3, !value.isEmpty, let last = name.last else { return nil }
        (preset, parameter) = (name.count == 2 ? String(name[0]) : nil, String(last))
    }
}

/// Finds the values of the parameters of presets: on the command line, in the environment, or by asking.
package struct PresetParameters {
    package enum Failure: Error, Equatable {
        /// An option names something that does not exist.
        case usage(String)
        /// A parameter has no value, and there is no terminal.
        case missing(String)
        case canceled
    }

    package typealias Prompt = (String, ProviderPreset.Parameter.Kind) throws(Failure) -> String?

    private let settings: [PresetSetting]
    private let environment: [String: String]
    private let prompt: Prompt

    /// Creates a finder of values.
    ///
    /// - Parameters:
    ///   - settings: the values on the command line.
    ///   - environment: the environment of the process.
    ///   - prompt: asks the user; returns `nil` if there is no terminal.
    package init(
        settings: [PresetSetting],
        environment: [String: String],
        prompt: @escaping Prompt
    ) {
        (self.settings, self.environment, self.prompt) = (settings, environment, prompt)
    }

    /// Returns the presets with their values.
    package func prepare(_ presets: [ProviderPreset]) throws(Failure) -> [PreparedPreset] {
        try check(presets)
        var prepared: [PreparedPreset] = []
        for preset in presets {
            guard !preset.needsSignIn else {
                throw .missing(
                    "\(preset.name) needs a sign-in that outlives the program: "
                        + "netproxy init --for \(preset.name), netproxy run, "
                        + "netproxy login \(preset.name)"
                )
            }
            prepared.append(try values(of: preset, alone: presets.count == 1))
        }
        return prepared
    }

    /// Whether the command line or the environment has a value for one of the presets, so that a configured
    /// channel does not count.
    package func hasOwnValues(for presets: [ProviderPreset]) -> Bool {
        !settings.isEmpty
            || presets.flatMap(\.secrets).flatMap(\.variables).contains { variable($0) != nil }
    }

    private func check(_ presets: [ProviderPreset]) throws(Failure) {
        for setting in settings {
            let named = presets.filter { setting.preset == nil || setting.preset == $0.name }
            guard setting.preset != nil || presets.count == 1 else {
                throw .usage(
                    "--set \(setting.parameter): name the preset too, such as "
                        + "\(presets[0].name).\(setting.parameter)=…"
                )
            }
            guard let preset = named.first else {
                throw .usage("--set: there is no --with \(setting.preset ?? "")")
            }
            let known = preset.parameters.map(\.name) + [PresetSetting.upstream]
            guard known.contains(setting.parameter) else {
                throw .usage(
                    "--set \(setting.parameter): \(preset.name) has the parameters "
                        + known.joined(separator: ", ")
                )
            }
        }
    }

    private func values(
        of preset: ProviderPreset,
        alone: Bool
    ) throws(Failure) -> PreparedPreset {
        func setting(_ name: String) -> String? {
            settings.last { $0.parameter == name && ($0.preset ?? preset.name) == preset.name }?
                .value
        }
        var prepared = PreparedPreset(preset: preset, upstream: setting(PresetSetting.upstream))
        for parameter in preset.parameters {
            if let text = setting(parameter.name) {
                prepared.values.append((parameter, value(text, of: parameter)))
            } else if let text = parameter.variables.lazy.compactMap(variable).first {
                prepared.values.append((parameter, usual(text, of: parameter)))
            } else if parameter.necessity == .required {
                guard let text = try prompt(question(preset, parameter), parameter.kind) else {
                    throw .missing(lack(of: parameter, in: preset, alone: alone))
                }
                prepared.values.append((parameter, usual(text, of: parameter)))
            }
        }
        return prepared
    }

    /// Returns the value of a variable, unless it is empty.
    private func variable(_ name: String) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns a value on the command line, where a secret may be a reference, so that it does not show up
    /// in the list of processes.
    private func value(
        _ text: String,
        of parameter: ProviderPreset.Parameter
    ) -> PreparedPreset.Value {
        parameter.kind == .secret && SecretReference(text: text) != nil
            ? .reference(text) : usual(text, of: parameter)
    }

    private func usual(
        _ text: String,
        of parameter: ProviderPreset.Parameter
    ) -> PreparedPreset.Value {
        switch parameter.kind {
        case .secret: .secret(text)
        case .text: .text(text)
        }
    }

    private func question(
        _ preset: ProviderPreset,
        _ parameter: ProviderPreset.Parameter
    ) -> String {
        let format = parameter.format.map { ", \($0)" } ?? ""
        return "\(preset.title): \(parameter.name)\(format) (\(parameter.create)): "
    }

    private func lack(
        of parameter: ProviderPreset.Parameter,
        in preset: ProviderPreset,
        alone: Bool
    ) -> String {
        let variables =
            parameter.variables.isEmpty
            ? "" : "set \(parameter.variables.joined(separator: " or ")), or "
        let name = alone ? parameter.name : "\(preset.name).\(parameter.name)"
        return "\(preset.name) needs \(parameter.name): \(variables)--set \(name)=… "
            + "(\(parameter.create))"
    }
}
