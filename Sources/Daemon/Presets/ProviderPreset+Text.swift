extension ProviderPreset {
    /// Returns a channel with this preset.
    ///
    /// - Parameters:
    ///   - values: the values of the parameters, as in a configuration.
    ///   - keys: further lines of the channel, not indented.
    /// - Returns: the lines below `channels:`.
    package func channelLines(
        with values: [(parameter: String, value: String)],
        keys: [String] = []
    ) -> [String] {
        var lines = ["  \(name):", "    preset: \(name)"]
        if !values.isEmpty {
            lines.append("    with:")
            lines += values.map { "      \($0.parameter): \(Self.quoted($0.value))" }
        }
        return lines + keys.map { "    \($0)" }
    }

    /// Returns the parameters that a channel needs, with a file for each secret and the example of each text.
    ///
    /// - Parameter directory: the directory of the files.
    /// - Returns: the values, as in a configuration.
    package func sampleValues(
        keysIn directory: String
    ) -> [(parameter: String, value: String)] {
        parameters.filter { $0.necessity == .required }.map { parameter in
            switch parameter.kind {
            case .secret: (parameter.name, "file:\(directory)/\(keyFile(of: parameter))")
            case .text: (parameter.name, parameter.example ?? "")
            }
        }
    }

    /// Returns the name of the file for a secret: `<preset>.key` for the first one.
    package func keyFile(of parameter: Parameter) -> String {
        secrets.first?.name == parameter.name ? "\(name).key" : "\(name).\(parameter.name).key"
    }

    /// Returns the text as a scalar in double quotes.
    package static func quoted(_ text: String) -> String {
        let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "\"\(escaped)\""
    }

    /// Returns the lines of `netproxy preset NAME`.
    ///
    /// - Parameter directory: the directory of the files with secrets.
    /// - Returns: the lines.
    package func lines(keysIn directory: String) -> [String] {
        let channel = channelLines(with: sampleValues(keysIn: directory))
        var lines = [title, "", "channels:"] + channel
        lines += ["", "The preset stands for:", ""]
        lines += channelText.split(separator: "\n").map { "    \($0)" }
        lines += ["", "Parameters:", ""]
        for parameter in parameters { lines += parameter.lines }
        lines += ["", "A wrong credential: \(refusal)"]
        if let note { lines.append("Note: \(note)") }
        if needsSignIn {
            lines.append("Sign in first: netproxy login \(name)")
        } else {
            lines.append("Without a configuration: netproxy exec --with \(name) -- PROGRAM")
        }
        let heading =
            checked == "never"
            ? "Not checked yet; the provider's documentation:" : "Checked on \(checked) against:"
        return lines + ["", heading] + sources.map { "    \($0)" }
    }
}

extension ProviderPreset.Parameter {
    /// The description in `netproxy preset NAME`.
    fileprivate var lines: [String] {
        let necessity = necessity == .optional ? ", optional" : ""
        let format = format.map { ", \($0)" } ?? ""
        var lines = ["    \(name): \(kind.rawValue)\(necessity)\(format)"]
        lines.append("        from: \(create)")
        if !variables.isEmpty {
            let names = variables.map { "$\($0)" }.joined(separator: ", ")
            lines.append("        exec --with reads: \(names)")
        }
        return lines
    }
}
