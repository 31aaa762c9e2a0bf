import NetproxyPresets
import NetproxySettings

/// Reads a channel after the defaults have been merged into it.
struct ChannelReader {
    let name: String
    let channel: Section<ChannelKeys>
    let identities: IdentityDirectory

    func configuration() -> ChannelConfiguration {
        let auth = AuthReader(channel, name: name, identities: identities)
        let tls = TLSDemands(channel[\.tls])
        let (credentials, placement) = auth.credentials(tls)
        let configuration = ChannelConfiguration(
            name: name,
            preset: channel[\.preset]?.name,
            upstreams: upstreams(),
            versions: channel[\.http],
            host: channel[\.host],
            match: .init(channel[\.match], channel: name),
            log: log(channel[\.log]),
            headers: HeaderRules(channel[\.headers]),
            trace: channel[\.trace],
            credentials: credentials,
            placement: placement,
            onClientCredential: auth.section[\.onClientCredential],
            allowInsecure: auth.section[\.credential.allowInsecure],
            retry: .init(channel[\.retry]),
            timeouts: .init(channel[\.timeouts]),
            pool: .init(channel[\.pool]),
            tls: tls,
            access: .init(channel[\.access]),
            rewrite: rewrite(),
            scrub: channel[\.scrub] ?? (placement?.isInTarget == true ? .content : .headers),
            rate: channel[\.rate].map(RateSettings.init),
            proxy: channel[\.proxy],
            stub: channel[\.stub],
            exec: channel[\.exec]
        )
        ChannelChecks(channel: channel, auth: auth.section, configuration: configuration).run()
        return configuration
    }

    private func upstreams() -> [UpstreamURL] {
        let slot = channel.upstream
        guard slot.isWritten else {
            // A preset has an upstream; an unknown preset is reported instead.
            if channel.preset.isWritten { return [] }
            if !channel.stub.isWritten || channel.stub.isOff { slot.require() }
            return []
        }
        if slot.items.isEmpty { slot.report("expected at least one URL") }
        // `off` does not mean an empty list here.
        return slot.items.compactMap { Form<UpstreamURL>.upstream.read(slot.with($0)) }
    }

    private func log(_ log: Section<ChannelLogKeys>) -> ChannelConfiguration.LogOptions {
        ChannelConfiguration.LogOptions(
            subsystem: log[\.subsystem] ?? "netproxy.\(name)",
            category: log[\.category],
            query: log[\.query],
            headers: log[\.headers]
        )
    }

    private func rewrite() -> Set<RewrittenPart> {
        switch channel[\.rewrite] {
        case .scalar(let flag): return flag ? Set(RewrittenPart.allCases) : []
        case .map(let parts):
            let chosen: [(RewrittenPart, Bool)] = [
                (.links, parts[\.links]), (.cookies, parts[\.cookies]),
            ]
            return Set(chosen.filter(\.1).map(\.0))
        }
    }
}
