import FoundationEssentials
package import NetproxyConfig
import NetproxySystem
import NetworkCore
import OAuth

extension ExecSettings: CredentialProviding {
    package func credential(
        for _: ChannelConfiguration,
        in context: CredentialContext
    ) -> RunningCredential {
        let tokens = HelperTokens(
            for: context.owner,
            command: command,
            environment: context.environment,
            report: context.report
        )
        return HelperAuthorizer(tokens, onEvent: context.onEvent).running
    }
}

/// Gets tokens from the helper program of `auth.exec` (contract section 2).
///
/// It replaces the client of a token endpoint, so that the engine handles single flight, expiry, back-off and
/// replay.
struct HelperTokens: OAuthService {
    private let owner: CredentialConfiguration.Owner
    private let command: [String]
    private let environment: [String: String]
    /// Receives the helper's error output, which only the operator may read.
    private let report: OperatorReport

    init(
        for owner: CredentialConfiguration.Owner,
        command: [String],
        environment: [String: String],
        report: @escaping OperatorReport
    ) {
        self.owner = owner
        self.report = report
        self.command = command
        self.environment = environment
    }

    private struct Question: Encodable {
        var version = 1
        var channel: String
        var reason: String
    }

    private struct PrintedToken: Decodable {
        var token: String
        var expiresIn: Double?
        var scheme: String?

        private enum Key: String, CodingKey {
            case token, expires_in, scheme
        }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Key.self)
            token = try members.decode(String.self, forKey: .token)
            scheme = try members.decodeIfPresent(String.self, forKey: .scheme)
            // Accept numbers as text, like those of a token endpoint: shell scripts print them as strings.
            expiresIn = members.seconds(.expires_in)
        }
    }

    func tokens(
        for grant: TokenGrant,
        configuration: OAuthConfiguration,
        deadline: ContinuousClock.Instant
    ) async throws(TokenFailure) -> TokenResponse {
        let question = Question(channel: owner.name, reason: HelperTokens.word(for: grant.reason))
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        var program = HelperProgram(command: command, environment: environment)
        do {
            program.input = Array(try encoder.encode(question)) + [UInt8(ascii: "\n")]
        } catch {
            throw TokenFailure(.transient, detail: "\(name) cannot be asked: \(error)")
        }
        return try response(to: try await program.output(as: name, for: owner, report))
    }

    /// Parses a JSON object, or a bare token on one line.
    func response(to output: [UInt8]) throws(TokenFailure) -> TokenResponse {
        guard let text = String(validating: output, as: UTF8.self) else {
            throw TokenFailure(.transient, detail: "\(name) printed text that is not UTF-8")
        }
        let lines = text.split(whereSeparator: \.isNewline)
        guard let first = lines.first?.first else {
            throw TokenFailure(.transient, detail: "\(name) printed nothing")
        }
        if first == "{" { return try object(text) }
        guard lines.count == 1 else {
            throw TokenFailure(.transient, detail: "\(name) printed neither JSON nor one line")
        }
        return TokenResponse(accessToken: try checked(String(lines[0])))
    }

    private func object(_ text: String) throws(TokenFailure) -> TokenResponse {
        let answer: PrintedToken
        do {
            answer = try JSONDecoder().decode(PrintedToken.self, from: Data(text.utf8))
        } catch {
            // The decoder's message may quote the token.
            throw TokenFailure(
                .transient,
                detail:
                    "\(name) printed JSON that is not understood: expected token, a string, and "
                    + "optionally expires_in, a number, and scheme, a string"
            )
        }
        var response = TokenResponse(accessToken: try checked(answer.token))
        response.lifetime = answer.expiresIn.map(ServerDocument.lifetime)
        if let scheme = answer.scheme {
            guard Grammar.isToken(scheme) else {
                throw TokenFailure(
                    .configuration,
                    detail: "\(name) returned an invalid auth scheme"
                )
            }
            response.scheme = scheme
        }
        return response
    }

    private func checked(_ token: String) throws(TokenFailure) -> Secret {
        guard !token.isEmpty, token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw TokenFailure(
                .configuration,
                detail: "\(name) printed a token with characters that no field may hold"
            )
        }
        return Secret(token)
    }

    private var name: String { "the helper \(command.first ?? "")" }

    /// Returns the contract's word for the reason of a token request; it has three.
    ///
    /// A forced renewal is `unauthorized`, so that a helper with a cache fetches a new token.
    private static func word(for reason: OAuthEvent.Reason) -> String {
        switch reason {
        case .initial, .recovery, .external, .signIn: "initial"
        case .expired, .early: "expired"
        case .unauthorized, .forced: "unauthorized"
        }
    }
}

extension HelperProgram {
    /// Runs a program that prints a credential.
    ///
    /// - Parameters:
    ///   - name: the program's name in messages.
    ///   - owner: the owner of the credential.
    ///   - report: receives the program's error output, which only the operator may read: it may contain a
    ///     secret.
    /// - Returns: the program's output.
    /// - Throws: the outcome, for clients and the log.
    func output(
        as name: String,
        for owner: CredentialConfiguration.Owner,
        _ report: OperatorReport
    ) async throws(TokenFailure) -> [UInt8] {
        do throws(Failure) {
            return try await run()
        } catch {
            if let words = error.shownWords { report("\(owner): \(name) said: \(words)") }
            throw TokenFailure(.transient, detail: "\(name) \(error.outcome)")
        }
    }
}

extension HelperProgram.Failure {
    /// The last line of the program's standard error, for the operator, with assigned secrets redacted.
    var shownWords: String? { words.map { Redaction.standard.foreign($0) } }
}
