/// A program that prints a token.
struct ExecKind: CredentialKind {
    static let key = Key("exec", .command)

    var key: any DeclaredKey { Self.key }

    func read(_ section: Section<CredentialKeys>) -> [String]? { section[Self.key] }

    func authentication(_ command: [String]) -> Authentication { .exec(command) }

    func settings(of authentication: Authentication) -> [String]? {
        if case .exec(let command) = authentication { command } else { nil }
    }

    func label(_ command: [String]) -> String { "auth.exec (\(command.first ?? ""))" }

    /// Returns nothing, because the program prints the secret.
    func secrets(_: [String]) -> [SecretReference] { [] }
}
