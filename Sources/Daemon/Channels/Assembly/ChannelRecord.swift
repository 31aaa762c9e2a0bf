package import NetproxyConfig
import NetproxyEventIO
import NetproxyHTTPMessage
package import NetproxyPath
package import NetproxyRequestLog
import NetworkCore
import OriginTransport

/// A channel and its inputs, which a reload compares.
package struct ChannelRecord: Sendable {
    /// The secrets and files of the channel.
    package let inputs: ChannelInputs
    /// The channel's credentials, in the order of use.
    package let accounts: [ChannelAccount]
    /// The rules for the channel's requests.
    package let rules: ChannelRules

    package var configuration: ChannelConfiguration { rules.configuration }
    package var name: String { rules.name }
    /// The outage during which the channel refuses its requests; `nil` while it serves.
    package var outage: ChannelOutage? { rules.outage }

    /// Creates a channel.
    ///
    /// - Parameters:
    ///   - configuration: the channel's configuration.
    ///   - inputs: the secrets and files that the configuration names.
    ///   - accounts: the channel's credentials.
    ///   - gate: the access policy and the rate limiter.
    ///   - log: receives a line for each exchange.
    ///   - spillDirectory: the directory of spilled bodies.
    ///   - environment: the variables of the daemon.
    /// - Throws: an error that names the channel and the unusable setting.
    package init(
        _ configuration: ChannelConfiguration,
        _ inputs: ChannelInputs,
        accounts: [ChannelAccount],
        gate: (access: AccessPolicy, limiter: RateLimiter?),
        log: ChannelLog,
        spillDirectory: String,
        environment: [String: String] = [:]
    ) throws {
        self.inputs = inputs
        self.accounts = accounts
        let samples =
            configuration.stub == nil
            ? nil : try SampleTransport(configuration, files: inputs.files)
        let origin = try configuration.origin()
        let tls =
            samples == nil && configuration.upstreams.contains { $0.origin.scheme == .https }
            ? try TLSContext(configuration.tls) : nil
        let proxy = try configuration.proxy.map { settings throws(IOError) in
            let password = settings.login.flatMap { inputs.secrets[$0.password] }
            return try ParentProxy(settings, password, for: "channel \(configuration.name): proxy")
        }
        let secretFields = try configuration.headers.secretFields(inputs)
        let stack = InterceptorStack(
            configuration,
            secretFields: secretFields,
            accounts: accounts,
            origin: origin,
            spillDirectory: spillDirectory
        )
        var parts = ChannelRules.Parts(origin: origin, access: gate.access, log: log, stack: stack)
        parts.limiter = gate.limiter
        parts.clients = accounts.map(\.clients)
        parts.secrets =
            secretFields.map { Secret($0.value) }
            + configuration.headers.secrets.compactMap { inputs.secrets[$0.value] }
        (parts.pinned, parts.otherResource) = (inputs.pinned, inputs.otherResource)
        (parts.tls, parts.proxy, parts.samples) = (tls, proxy, samples)
        parts.ignoredProxy = IgnoredProxy.variable(for: configuration, in: environment)
        rules = ChannelRules(configuration, parts)
    }

    /// Creates a channel that refuses its requests; it has no credential, no TLS and no proxy.
    ///
    /// - Throws: an error if the channel has no upstream.
    init(_ outage: ChannelOutage, access: AccessPolicy, log: ChannelLog) throws {
        (inputs, accounts) = (ChannelInputs(files: []), [])
        let origin = try outage.configuration.origin()
        var parts = ChannelRules.Parts(
            origin: origin,
            access: access,
            log: log,
            stack: InterceptorStack()
        )
        parts.outage = outage
        rules = ChannelRules(outage.configuration, parts)
    }
}

extension ChannelConfiguration {
    /// The origin of the first upstream, or of the stub.
    fileprivate func origin() throws(IOError) -> Origin {
        guard let origin = upstreams.first?.origin ?? stub.map({ _ in SampleTransport.origin })
        else { throw .system("channel \(name) has no upstream") }
        return origin
    }
}

extension HeaderRules {
    /// Returns the fields with secret values.
    ///
    /// - Throws: an error that names a field with an invalid value.
    func secretFields(_ inputs: ChannelInputs) throws(IOError) -> [HTTPField] {
        var fields: [HTTPField] = []
        for secret in secrets {
            guard let name = HTTPFieldName(secret.name), let value = inputs.secrets[secret.value],
                let field = HTTPField(name, value.reveal())
            else {
                throw .system(
                    "headers.secret.\(secret.name): the value is not valid in a header field, such as "
                        + "because of leading or trailing spaces"
                )
            }
            fields.append(field)
        }
        return fields
    }
}
