import NetproxySettings
import Testing

@testable import NetproxyConfig

/// Tests of credentials that channels share.
@Suite struct Identities {
    private let google = """
        identities:
          google:
            oauth: { issuer: https://a.example, client_id: x, client_auth: none, \
        grant: authorization_code, scopes: [mail, drive] }

        """

    /// Returns a configuration with these `auth` keys of two channels.
    private func text(_ first: String, _ second: String = "{ identity: google }") -> String {
        google + """
            channels:
              one: { upstream: https://one.example, auth: \(first) }
              two: { upstream: https://two.example, auth: \(second) }

            """
    }

    @Test func `channels with the same identity have equal credentials`() throws {
        let channels = try load(text("{ identity: google }")).channels
        #expect(channels[0].credentials == channels[1].credentials)
        #expect(channels[0].credentials.map(\.identity) == ["google"])
        #expect(channels[0].placement == .header(name: "Authorization", prefix: nil))
    }

    @Test func `a channel narrows the tokens of its identity`() throws {
        let auth = "{ identity: google, scopes: [mail], audience: b, resource: ['urn:c'] }"
        let credentials = try load(text(auth)).channels.flatMap(\.credentials)
        #expect(credentials.map(\.isNarrowed) == [true, false])
        #expect(credentials[0].oauth?.scopes == ["mail"])
        #expect(credentials[0].oauth?.audience == "b")
        #expect(credentials[0].oauth?.resources == ["urn:c"])
        #expect(credentials[1].oauth?.scopes == ["mail", "drive"])
        #expect(
            try load(text("{ identity: google, scopes: [mail, drive] }")).channels[0]
                .credentials[0].isNarrowed == false
        )
    }

    @Test func `an identity replaces the whole credential in defaults`() throws {
        let text =
            "defaults: { auth: { oauth: { issuer: https://b.example, client_id: y } } }\n"
            + text("[google]")
        #expect(try load(text).channels[0].credentials.map(\.identity) == ["google"])
    }

    @Test func `an identity uses its own tls keys, or else those in defaults`() throws {
        let text = "defaults: { tls: { ca: /ca } }\n" + text("[google]")
        #expect(try load(text).identities[0].credential.tls.authorities == "/ca")
        let own = text.replacing("  google:\n", with: "  google:\n    tls: { ca: /own }\n")
        #expect(try load(own).identities[0].credential.tls.authorities == "/own")
    }

    @Test(arguments: [
        (
            "{ identity: gogle }",
            "5:59: channels.one.auth.identity: there is no identity 'gogle', did you mean 'google'?"
        ),
        ("[google, google]", "5:56: channels.one.auth[1]: the identity 'google' is named twice"),
        (
            "[]",
            "5:47: channels.one.auth: expected at least one identity; for no credential, write auth: off"
        ),
        (
            "[[google]]",
            "5:48: channels.one.auth[0]: expected the name of an identity, found a list"
        ),
        (
            "{ bearer: env:A, scopes: [mail] }",
            "5:72: channels.one.auth.scopes: scopes belongs into oauth; here it goes with an "
                + "identity only"
        ),
        (
            "{ identity: google, scopes: [files] }",
            "5:75: channels.one.auth.scopes: the scope files is not among those of identity google, "
                + "and a channel can only narrow them; add it to identities.google.oauth.scopes"
        ),
        (
            "{ identity: google, bearer: env:A }",
            "5:49: channels.one.auth.identity: expected only one kind of credential, "
                + "found bearer, identity"
        ),
        (
            "{ identity: google, users: [1] }",
            "5:67: channels.one.auth.users: users belongs into an identity; here it is access.users"
        ),
    ])
    func `the error of a channel's auth has its position`(auth: String, error: String) {
        let found = errors(in: text(auth))
        #expect(found == ["netproxy.yaml:\(error)"])
    }

    @Test(arguments: [
        (
            "  google:\n", "  other: { bearer: env:B }\n  google:\n",
            "identities.other: no channel uses this identity; add auth: { identity: other } to one"
        ),
        ("  google:\n", "  two: { bearer: env:B }\n  google:\n", "an identity has this name, too"),
        (
            "    oauth:", "    identity: x\n    oauth:",
            "identities.google.identity: an identity has its own credential"
        ),
        (
            "    oauth:", "    scopes: [a]\n    oauth:",
            "identities.google.scopes: scopes of an identity belongs into its oauth"
        ),
        (
            "    oauth:", "    users: [me]\n    oauth:",
            "identities.google.users[0]: expected a numeric user id, found 'me'"
        ),
        (
            "client_auth: none", "client_auth: tls",
            "identities.google.tls.client_certificate: required"
        ),
        ("issuer: https", "issuer: http", "would send credentials over http://"),
    ])
    func `the error of an identity names the key`(
        old: String,
        new: String,
        error: String
    ) {
        let found = errors(in: text("[google]").replacing(old, with: new))
        #expect(found.contains { $0.contains(error) }, "\(found)")
    }

    @Test func `the place of a credential is stated once`() throws {
        let keys = """
            identities:
              a: { bearer: env:A, in: query, name: key }
              b: { bearer: env:B }
              c: { header: { name: X-Key, value: env:C } }
            channels:

            """
        func found(_ auth: String) -> [String] {
            errors(
                in: keys + "  x: { upstream: https://x.example, auth: \(auth) }\n"
                    + "  y: { upstream: https://y.example, auth: [a] }\n"
                    + "  z: { upstream: https://z.example, auth: [b] }\n"
                    + "  w: { upstream: https://w.example, auth: [c] }\n"
            )
        }
        #expect(found("{ identity: b, in: query, name: k }") == [])
        #expect(found("{ identity: a, in: query, name: k }")[0].contains("states the place"))
        #expect(found("[b, a]")[0].contains("put their credentials into one place"))
        #expect(found("{ identity: c, in: query, name: k }")[0].contains("does not go with header"))
    }

    @Test func `hosts may be patterns, but not all hosts`() throws {
        let hosts = "match: { hosts: ['*.Googleapis.com', a.example] }"
        #expect(try channel(hosts).match.hosts == ["*.googleapis.com", "a.example"])
        #expect(errors(inChannel: "match: { hosts: ['*'] }").count == 1)
    }
}
