package import NetproxyHTTPMessage

/// AWS credentials that sign each request (Signature Version 4).
package struct AWSSettings: Sendable, Hashable {
    /// The source of the credentials; `nil` if a web identity assumes a role.
    package var source: Source?
    /// The role that the credentials assume.
    package var role: Role?
    /// The region in signatures; `nil` for the region in the upstream's host.
    package var region: String?
    /// The signing name of the service; `nil` for the service in the upstream's host.
    package var service: String?

    /// A source of credentials.
    package enum Source: Sendable, Hashable {
        /// The configured keys.
        case keys(Keys)
        /// A `credential_process`: its absolute path and arguments.
        case exec([String])
        /// The agent of a container's platform.
        case container
        /// The metadata service of an instance.
        case instance
    }

    /// The words of `source`.
    package enum Metadata: String, Sendable, CaseIterable {
        case container, instance
    }

    /// A pair of keys.
    package struct Keys: Sendable, Hashable {
        package var accessKeyID: AccessKeyID
        package var secretAccessKey: SecretReference
        package var sessionToken: SecretReference?
    }

    /// The public half of a pair, which is not secret.
    package enum AccessKeyID: Sendable, Hashable {
        case text(String)
        case secret(SecretReference)

        init?(text: String) {
            if let reference = SecretReference(text: text) {
                self = .secret(reference)
            } else if (1...128).contains(text.utf8.count),
                text.utf8.allSatisfy({ Grammar.isAlphanumeric($0) || $0 == UInt8(ascii: "_") })
            {
                self = .text(text)
            } else {
                return nil
            }
        }

        /// The reference to the secret, or nil if the ID is a text.
        package var reference: SecretReference? {
            if case .secret(let reference) = self { reference } else { nil }
        }
    }

    /// A role assumed through the Security Token Service.
    package struct Role: Sendable, Hashable {
        package var arn: String
        /// The session's name; `nil` derives it from the channel's name.
        package var sessionName: String?
        package var externalID: String?
        /// The lifetime of the role's credentials; `nil` for the service's default.
        package var duration: Duration?
        /// The token of an identity provider, used instead of credentials.
        package var webIdentityToken: SecretReference?
        /// The service's URL; `nil` for that of the region.
        package var url: EndpointURL?
    }

    /// Returns the region and the service of requests to an upstream, each `nil` if unknown.
    package func scope(for upstream: Origin?) -> (region: String?, service: String?) {
        let endpoint = upstream.map { AWSEndpoint(host: $0.host) }
        return (region ?? endpoint?.region, service ?? endpoint?.service)
    }

    /// Returns the region whose Security Token Service a channel uses because of its upstream alone.
    ///
    /// `nil` if the settings name a region or the service's URL, or assume no role.
    package func tokenRegion(for upstream: Origin?) -> String? {
        guard let role, role.url == nil, region == nil else { return nil }
        return scope(for: upstream).region
    }

    /// The secrets to read at the start, without the web identity, which is read for each request.
    package var secretReferences: [SecretReference] {
        guard case .keys(let keys) = source else { return [] }
        return [keys.accessKeyID.reference, keys.secretAccessKey, keys.sessionToken]
            .compactMap { $0 }
    }
}

extension AWSSettings.Role {
    /// Returns the URL of the Security Token Service, and the region in signatures of requests to it.
    ///
    /// - Parameter region: the region of the channel.
    /// - Returns: the service of that region, unless the settings name another one.
    package func tokenService(in region: String) -> (url: EndpointURL, region: String) {
        if let url {
            return (url, AWSEndpoint(host: url.origin.host).region ?? region)
        }
        let suffix = region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
        let origin = Origin(scheme: .https, host: "sts.\(region).\(suffix)")
        return (EndpointURL(origin: origin, target: "/"), region)
    }
}
