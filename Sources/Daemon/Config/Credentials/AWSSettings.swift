package import NetproxyHTTPMessage

/// Credentials of AWS, with which each request is signed (Signature Version 4).
package struct AWSSettings: Sendable, Hashable {
    /// The source of the credentials; `nil` if a web identity takes a role.
    package var source: Source?
    /// The role that they take.
    package var role: Role?
    /// The region that is signed for; `nil`: the one in the upstream's host.
    package var region: String?
    /// The signing name of the service; `nil`: the one in the upstream's host.
    package var service: String?

    /// A source of credentials.
    package enum Source: Sendable, Hashable {
        /// Keys that are configured.
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

    /// The public half of a pair, which need not be kept secret.
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

        /// The secret that it is read from, if it is one.
        package var reference: SecretReference? {
            if case .secret(let reference) = self { reference } else { nil }
        }
    }

    /// A role that is assumed through the Security Token Service.
    package struct Role: Sendable, Hashable {
        package var arn: String
        /// The session's name; `nil`: made of the channel's.
        package var sessionName: String?
        package var externalID: String?
        /// The lifetime of its credentials; `nil`: the service's default.
        package var duration: Duration?
        /// The token of an identity provider, in place of credentials.
        package var webIdentityToken: SecretReference?
        /// The service's URL; `nil`: that of the region.
        package var url: EndpointURL?
    }

    /// The region and the service of requests to an upstream; each `nil` if it is not known.
    package func scope(for upstream: Origin?) -> (region: String?, service: String?) {
        let endpoint = upstream.map { AWSEndpoint(host: $0.host) }
        return (region ?? endpoint?.region, service ?? endpoint?.service)
    }

    /// The region whose Security Token Service a channel uses because of its upstream alone; `nil` where the
    /// settings name one, or take no role.
    package func tokenRegion(for upstream: Origin?) -> String? {
        guard let role, role.url == nil, region == nil else { return nil }
        return scope(for: upstream).region
    }

    /// The secrets that are read at the start; not the web identity, which is read for each request.
    package var secretReferences: [SecretReference] {
        guard case .keys(let keys) = source else { return [] }
        return [keys.accessKeyID.reference, keys.secretAccessKey, keys.sessionToken]
            .compactMap { $0 }
    }
}

extension AWSSettings.Role {
    /// The URL of the Security Token Service, and the region that requests to it are signed for.
    ///
    /// - Parameter region: that of the channel.
    /// - Returns: the service of that region, unless the settings name another.
    package func tokenService(in region: String) -> (url: EndpointURL, region: String) {
        if let url {
            return (url, AWSEndpoint(host: url.origin.host).region ?? region)
        }
        let suffix = region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
        let origin = Origin(scheme: .https, host: "sts.\(region).\(suffix)")
        return (EndpointURL(origin: origin, target: "/"), region)
    }
}
