/// The keys of a map, with what their values look like.
protocol RuledKey: SectionKey {
    var rule: KeyRule { get }
}

/// What the value of a key looks like, for editors: a table beside the readers, which alone decide.
indirect enum KeyRule {
    /// A text that may be or contain a credential.
    case opaque
    case text, flag, duration, size, secret, url, path, share
    case number(ClosedRange<Int>)
    case choice([String])
    /// A value, or a list of them, or off.
    case list(KeyRule)
    case either([KeyRule])
    case map(any RuledKey.Type)
    /// A map whose keys are names that the user chooses.
    case named(KeyRule)
    /// Any value, which is not a credential.
    case value
    /// Maps of these keys, under names that the user chooses: channels and identities.
    case records(any RuledKey.Type)

    static var off: KeyRule { .choice(["off"]) }

    static func choice<Choice: RawRepresentable<String> & CaseIterable>(
        of _: Choice.Type
    ) -> KeyRule {
        .choice(Choice.allCases.map(\.rawValue))
    }
}

extension RootKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .listen, .connect, .include: .list(.text)
        case .admin: .list(.text)
        case .state: .either([.path, .map(StateKey.self)])
        case .stateKey: .list(.secret)
        case .workers: .either([.choice(["auto"]), .number(1...64)])
        case .busyPoll: .choice(of: ProxyConfiguration.BusyPoll.self)
        case .drain: .duration
        case .limits: .map(LimitsKey.self)
        case .unmatched: .choice(of: ProxyConfiguration.Unmatched.self)
        case .allowRemote: .flag
        case .log: .map(LogKey.self)
        case .defaults: .map(ChannelKey.self)
        case .channels: .records(ChannelKey.self)
        case .identities: .records(IdentityKey.self)
        }
    }
}

extension StateKey: RuledKey {
    var rule: KeyRule { .map(EtcdKey.self) }
}

extension EtcdKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .endpoints: .list(.url)
        case .prefix, .user: .text
        case .password: .secret
        case .authorities, .clientCertificate, .clientKey: .path
        }
    }
}

extension IncludedKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .channels: .records(ChannelKey.self)
        case .identities: .records(IdentityKey.self)
        case .defaults: .map(ChannelKey.self)
        }
    }
}

extension LimitsKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .connections: .number(1...1_000_000)
        case .headerCount: .number(1...10_000)
        case .headerSize, .targetSize: .size
        case .headTimeout: .duration
        case .bodyRate: .either([.size, .off])
        case .http2: .either([.map(HTTP2Key.self), .off])
        }
    }
}

extension HTTP2Key: RuledKey {
    var rule: KeyRule {
        switch self {
        case .streams: .number(1...10_000)
        case .window: .size
        case .continuations: .number(0...1000)
        case .idleFrames: .number(10...1_000_000)
        }
    }
}

extension LogKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .directory: .path
        case .output: .choice(of: LogSettings.Output.self)
        case .format: .choice(of: LogSettings.Format.self)
        case .rotate: .either([.map(RotationKey.self), .off])
        }
    }
}

extension RotationKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .size: .size
        case .keep: .number(0...1000)
        }
    }
}

extension ChannelKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .upstream: .list(.url)
        case .http: .choice(of: ChannelConfiguration.Versions.self)
        case .host: .text
        case .match: .map(MatchKey.self)
        case .log: .map(ChannelLogKey.self)
        case .headers: .map(HeadersKey.self)
        case .trace: .choice(of: ChannelConfiguration.Trace.self)
        case .auth: .either([.map(AuthenticationKey.self), .list(.text)])
        case .retry: .map(RetryKey.self)
        case .timeouts: .map(TimeoutsKey.self)
        case .pool: .map(PoolKey.self)
        case .tls: .map(TLSKey.self)
        case .access: .map(ChannelAccessKey.self)
        case .rewrite: .either([.flag, .map(RewriteKey.self)])
        case .rate: .either([.map(RateKey.self), .off])
        case .proxy: .either([.url, .map(ProxyKey.self), .off])
        case .stub: .list(.map(AnswerKey.self))
        case .exec: .named(.choice(of: ChannelConfiguration.ExecVariable.Value.self))
        }
    }
}

extension RewriteKey: RuledKey {
    var rule: KeyRule { .flag }
}

extension RateKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .requests, .burst: .number(1...1_000_000)
        case .per: .duration
        case .eachKey: .either([.map(EachKeyKey.self), .off])
        }
    }
}

extension EachKeyKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .requests, .burst: .number(1...1_000_000)
        case .per: .duration
        }
    }
}

extension AnswerKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .method: .list(.text)
        case .path: .text
        case .body: .opaque
        case .delay: .duration
        case .status: .number(200...599)
        case .headers: .named(.opaque)
        case .file: .path
        case .fault: .choice(of: SampleAnswer.Fault.self)
        }
    }
}

extension MatchKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .path, .listen: .text
        case .hosts: .list(.text)
        case .strip: .flag
        }
    }
}

extension ChannelLogKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .subsystem, .category: .text
        case .query: .choice(of: ChannelConfiguration.LogOptions.Query.self)
        case .headers: .list(.text)
        }
    }
}

extension HeadersKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .default, .set: .named(.opaque)
        case .secret: .named(.secret)
        case .remove: .list(.text)
        case .via: .choice(of: HeaderRules.Via.self)
        }
    }
}

extension AuthenticationKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .oauth: .map(OAuthKey.self)
        case .bearer: .secret
        case .basic: .map(BasicKey.self)
        case .header: .map(HeaderCredentialKey.self)
        case .exec: .list(.opaque)
        case .aws: .map(AWSKey.self)
        case .jwt: .map(JWTKey.self)
        case .hmac: .map(HMACKey.self)
        case .name, .audience: .text
        case .identity, .scopes, .resource: .list(.text)
        case .prefix: .opaque
        case .location: .choice(of: CredentialPlacement.Location.self)
        case .onClientCredential: .choice(of: ChannelConfiguration.OnClientCredential.self)
        case .allowInsecure: .flag
        }
    }
}

extension IdentityKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .tls: .map(TLSKey.self)
        case .users: .list(.number(0...4_294_967_295))
        case .share: .flag
        default: AuthenticationKey(rawValue: rawValue)?.rule ?? .text
        }
    }
}

extension OAuthKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .grant: .choice(of: OAuthSettings.Grant.self)
        case .discover: .flag
        case .issuer, .tokenURL, .authorizationURL, .deviceURL, .revocationURL, .pushedURL,
            .clientMetadataURL:
            .url
        case .scopes, .resource: .list(.text)
        case .audience, .grantType, .redirectURI, .clientID, .installation: .text
        case .repositories: .list(.text)
        case .permissions:
            .named(.choice(of: OAuthSettings.Installation.Permission.Access.self))
        case .parameters, .authorizationParameters, .tokenHeaders: .named(.opaque)
        case .assertion: .map(AssertionKey.self)
        case .exchange: .map(TokenExchangeKey.self)
        case .proxy: .either([.url, .map(ProxyKey.self), .off])
        case .use: .choice(of: OAuthSettings.TokenUse.self)
        case .clientKey: .map(ClientKeyKey.self)
        case .proofKey, .clientSecret, .refreshToken: .secret
        case .clientAuthentication: .choice(of: OAuthSettings.ClientAuthentication.self)
        case .refreshBefore: .duration
        }
    }
}

extension ClientKeyKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .key: .secret
        case .id, .audience: .text
        }
    }
}

extension AssertionKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .key, .serviceAccount: .secret
        case .id, .issuer, .subject, .audience: .text
        }
    }
}

extension TokenExchangeKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .subjectToken, .actorToken: .secret
        case .subjectTokenType, .actorTokenType, .requestedTokenType: .text
        }
    }
}

extension ProxyKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .url: .url
        case .username: .text
        case .password: .secret
        }
    }
}

extension BasicKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .username: .text
        case .password: .secret
        }
    }
}

extension HeaderCredentialKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .name: .text
        case .value: .secret
        }
    }
}

extension AWSKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .accessKeyID: .opaque
        case .secretAccessKey, .sessionToken: .secret
        case .exec: .list(.opaque)
        case .source: .choice(of: AWSSettings.Metadata.self)
        case .role: .map(AWSRoleKey.self)
        case .region, .service: .text
        }
    }
}

extension JWTKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .key: .secret
        case .algorithm: .choice(of: JWTSettings.Algorithm.self)
        case .id, .type: .text
        case .claims: .named(.value)
        case .lifetime: .duration
        }
    }
}

extension AWSRoleKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .arn, .sessionName, .externalID: .text
        case .duration: .duration
        case .webIdentityToken: .secret
        case .url: .url
        }
    }
}

extension HMACKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .key: .secret
        case .keyEncoding: .choice(of: HMACSettings.KeyEncoding.self)
        case .algorithm: .choice(of: HMACSettings.Algorithm.self)
        case .encoding: .choice(of: HMACSettings.Encoding.self)
        case .date: .choice(of: HMACSettings.DateForm.self)
        case .message: .opaque
        case .fields: .named(.opaque)
        }
    }
}

extension RetryKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .unauthorized: .either([.flag, .map(UnauthorizedKey.self)])
        case .spill, .replayBody: .either([.size, .off])
        case .attempts: .number(0...10)
        case .status: .list(.number(400...599))
        case .backoff: .map(BackoffKey.self)
        case .budget: .share
        }
    }
}

extension UnauthorizedKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .status: .list(.number(203...599))
        case .body: .opaque
        }
    }
}

extension BackoffKey: RuledKey {
    var rule: KeyRule { .duration }
}

extension TimeoutsKey: RuledKey {
    var rule: KeyRule { .either([.duration, .off]) }
}

extension PoolKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .connections: .number(1...100_000)
        case .queue: .number(0...1_000_000)
        case .idle, .wait: .duration
        }
    }
}

extension TLSKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .pins: .list(.text)
        case .minimum: .choice(of: UpstreamTLS.Version.self)
        case .authorities, .clientCertificate, .clientKey: .path
        case .systemRoots: .flag
        case .pinMode: .choice(of: UpstreamTLS.PinMode.self)
        case .serverName: .text
        }
    }
}

extension ChannelAccessKey: RuledKey {
    var rule: KeyRule {
        switch self {
        case .hosts, .origins, .methods, .paths: .list(.text)
        case .users: .list(.number(0...4_294_967_295))
        case .key: .secret
        }
    }
}
