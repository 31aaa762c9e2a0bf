/// Reads the additional parameters of token requests, and those of the sign-in page.
struct ParameterReader {
    let reading: Reading
    let grant: OAuthSettings.Grant

    /// Returns the parameters of token requests.
    func token(_ entries: [ConfigNode.Entry]) -> [OAuthSettings.Parameter] {
        guard grant == .byName else { return parameters(entries, except: Self.own) }
        // The secrets are a part of the grant.
        return parameters(entries, except: Self.ownOfEveryGrant)
            .filter { SecretReference(text: $0.value) == nil }
    }

    /// Returns the parameters of the sign-in page.
    func authorization(_ entries: [ConfigNode.Entry]) -> [OAuthSettings.Parameter] {
        parameters(entries, except: Self.own)
    }

    /// Returns the secrets among the parameters of an extension grant.
    func secrets(_ entries: [ConfigNode.Entry]) -> [HeaderSecret] {
        entries.compactMap { entry in
            entry.value.text.flatMap(SecretReference.init(text:)).map { reference in
                reading.mention(.secret(reference), at: entry.value)
                return HeaderSecret(name: entry.key, value: reference)
            }
        }
    }

    private func parameters(
        _ entries: [ConfigNode.Entry],
        except own: Set<String>
    ) -> [OAuthSettings.Parameter] {
        entries.compactMap { entry in
            guard !own.contains(entry.key) else {
                reading.report(
                    "netproxy sets \(entry.key) itself, use the key for it",
                    at: entry.place
                )
                return nil
            }
            guard let value = entry.value.text, !entry.key.isEmpty else {
                reading.report("expected a text", at: entry.value)
                return nil
            }
            return OAuthSettings.Parameter(name: entry.key, value: value)
        }
    }

    /// The parameters that netproxy sends with any grant.
    private static let ownOfEveryGrant: Set<String> = [
        "grant_type", "client_id", "client_secret", "scope", "audience", "resource",
        "client_assertion", "client_assertion_type",
    ]

    /// The parameters that netproxy sends; a repeated parameter is an error (RFC 6749 §3.2).
    private static let own: Set<String> = ownOfEveryGrant.union([
        "refresh_token", "code", "redirect_uri", "code_verifier", "device_code", "assertion",
        "subject_token", "subject_token_type", "actor_token", "actor_token_type",
        "requested_token_type", "response_type", "state", "code_challenge",
        "code_challenge_method", "dpop_jkt",
    ])
}

extension Form<String> {
    /// The grant type of an extension grant.
    static var extensionGrant: Form {
        text("a grant type that no other grant presents, such as account_credentials or a URI") {
            TextRules.isScope($0) && !ownGrantTypes.contains($0)
        }
    }
}

/// The grant types of the other grants, which have their own checks and rules.
private let ownGrantTypes: Set<String> = [
    "client_credentials", "refresh_token", "authorization_code",
    "urn:ietf:params:oauth:grant-type:device_code",
    "urn:ietf:params:oauth:grant-type:jwt-bearer",
    "urn:ietf:params:oauth:grant-type:token-exchange",
]
