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
        // Who may not read the service's file has no use for one of his own.
        let isServices = personal != nil && UnreadableFile.isDenied(file)
        let advice =
            isServices
            ? "run this as the service's user, or as root"
            : personal.map { "write \($0), or name another with --config" }
        return ConfigurationErrors(errors: [
            ConfigurationError(
                file: file,
                position: Position(line: 1, column: 1),
                key: "",
                message: "\(cause); \(advice ?? "name another with --config")"
            )
        ])
    }

    /// The one error of a file that is not in UTF-8, at its first byte that is not.
    package static func notText(_ bytes: [UInt8], file: String) -> ConfigurationErrors {
        // Decoding puts U+FFFD there; in front of it everything is as it was.
        let repaired = String(decoding: bytes, as: UTF8.self)
        var (line, column, offset) = (1, 1, 0)
        for scalar in repaired.unicodeScalars {
            let encoded = Array(String(scalar).utf8)
            guard bytes[offset...].starts(with: encoded) else { break }
            offset += encoded.count
            (line, column) = scalar == "\n" ? (line + 1, 1) : (line, column + 1)
        }
        return ConfigurationErrors(errors: [
            ConfigurationError(
                file: file,
                position: Position(line: line, column: column),
                key: "",
                message: "not a text in UTF-8; write it in that encoding"
            )
        ])
    }
}
