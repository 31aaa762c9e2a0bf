import NetproxyChannels
import NetproxyConfig
import NetworkCore
import OAuth

extension SignIn {
    /// Signs in on another device (RFC 8628): prints the page and the code, and polls.
    ///
    /// - Throws: `Failure`, `CancellationError`.
    package func onAnotherDevice() async throws {
        try await prepare()
        do {
            let flow = DeviceFlow(
                service: client.service,
                transport: client.transport,
                server: try await client.server(needing: \.deviceEndpoint),
                configuration: asked
            )
            let code = try await flow.begin()
            say(
                "To sign in to \(credential.name), open \(code.page) on any device and enter the code:"
            )
            say("")
            say("  \(code.userCode)")
            say("")
            if let page = code.completePage { say("Or open \(page) and compare the code.") }
            let lifetime = Wording.time(Double(code.lifetime.components.seconds))
            say("The code is good for \(lifetime).")
            let signedIn = try await flow.tokens(for: code)
            try await store(signedIn.response, asked: signedIn.asked)
        } catch let error as MetadataError {
            throw Failure(description: error.description)
        } catch let error as SignInError {
            throw Failure(description: error.description, serverError: error.serverError)
        }
    }
}
