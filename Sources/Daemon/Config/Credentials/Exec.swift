package struct ExecSettings: CredentialSettings {
    /// The absolute path of the program, and its arguments.
    package let command: [String]

    package var label: String { "auth.exec (\(command.first ?? ""))" }
}

/// A program that prints a token.
struct ExecKind: CredentialKind {
    static let key = Key("exec", .command)

    var key: any DeclaredKey { Self.key }

    func read(_ section: Section<CredentialKeys>) -> ExecSettings? {
        section[Self.key].map(ExecSettings.init)
    }
}
