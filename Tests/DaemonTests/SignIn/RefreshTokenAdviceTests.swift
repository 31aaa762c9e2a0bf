import NetproxyConfig
import Testing

@testable import NetproxyCommands

/// The advice after a sign-in without a refresh token.
@Suite struct RefreshTokenAdviceTests {
    private func advice(_ issuer: String) throws -> String {
        let text = """
            channels:
              a:
                upstream: https://a.example
                auth:
                  oauth: { grant: authorization_code, client_id: a, client_auth: none, \(issuer) }
            """
        let configuration = try ConfigurationLoader.load(
            text: text,
            file: "netproxy.yaml",
            environment: ["HOME": "/home/someone"]
        ).get()
        guard let settings = configuration.channels[0].credentials.first?.oauth else {
            return ""
        }
        return RefreshTokenAdvice.words(for: settings)
    }

    @Test(arguments: [
        ("issuer: https://accounts.google.com", "Google", "access_type: offline, prompt: consent"),
        ("issuer: 'https://login.microsoftonline.com/x/v2.0'", "Microsoft", "offline_access"),
        ("issuer: https://dev-1.okta.com", "Okta", "offline_access"),
        (
            "token_url: https://api.dropboxapi.com/t, authorization_url: https://www.dropbox.com/a",
            "Dropbox", "token_access_type: offline"
        ),
        (
            "token_url: https://www.reddit.com/t, authorization_url: https://www.reddit.com/a",
            "Reddit", "duration: permanent"
        ),
    ])
    func `the advice names the parameter of a known provider`(
        server: String,
        provider: String,
        parameter: String
    ) throws {
        let advice = try advice(server)
        #expect(advice.contains("by \(provider), "))
        #expect(advice.contains(parameter))
    }

    @Test(arguments: ["https://login.example.com", "https://notgithub.com", "https://netflix.com"])
    func `the advice for another server lists the usual ways`(issuer: String) throws {
        let advice = try advice("issuer: \(issuer)")
        #expect(advice.contains("offline_access"))
        #expect(advice.contains("auth.oauth.authorization_parameters"))
    }
}
