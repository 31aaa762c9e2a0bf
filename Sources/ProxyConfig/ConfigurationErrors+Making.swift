extension ConfigurationErrors {
    /// Some errors.
    package init(_ errors: [ConfigurationError]) {
        self.init(errors: errors)
    }

    /// The one error of a file that cannot be read.
    package static func unreadable(_ file: String) -> ConfigurationErrors {
        ConfigurationErrors(errors: [
            ConfigurationError(
                file: file,
                position: Position(line: 1, column: 1),
                key: "",
                message: "the file cannot be read; name another with --config"
            )
        ])
    }
}
