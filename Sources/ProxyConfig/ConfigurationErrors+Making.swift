extension ConfigurationErrors {
    /// Some errors.
    package init(_ errors: [ConfigurationError]) {
        self.init(errors: errors)
    }

    /// The one error of a file that cannot be read.
    ///
    /// - Parameters:
    ///   - file: its path.
    ///   - personal: the user's own, where it was looked for first and is not.
    /// - Returns: an error that says what to do.
    package static func unreadable(
        _ file: String,
        missing personal: String? = nil
    ) -> ConfigurationErrors {
        let cause = UnreadableFile.words(file)
        let advice = personal.map { "write \($0), or name another with --config" }
        return ConfigurationErrors(errors: [
            ConfigurationError(
                file: file,
                position: Position(line: 1, column: 1),
                key: "",
                message: "\(cause); \(advice ?? "name another with --config")"
            )
        ])
    }
}
