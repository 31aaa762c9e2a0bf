/// Reads the top-level keys of a configuration.
struct RootReader {
    let root: Section<RootKey>
    let directories: DefaultDirectories

    private var reading: Reading { root.reading }

    /// Reads everything except the channels, which are passed in.
    func configuration(channels: [ChannelConfiguration]) -> ProxyConfiguration {
        let reader = StateReader(root: root)
        let state = state(isShared: reader.isShared)
        return ProxyConfiguration(
            listen: root.list(
                .listen,
                of: Self.listenForm,
                bound: ListenAddress.bound(of:),
                default: [.tcp(HostPort(host: "127.0.0.1", port: 8080))],
                parse: ListenAddress.init(text:)
            ),
            allowRemote: root.flag(.allowRemote, default: false),
            admin: admin(state: state),
            state: state,
            etcd: reader.etcd(),
            stateKeys: reader.keys(),
            workers: workers(),
            busyPoll: root.choice(.busyPoll, default: .auto),
            drain: root.duration(.drain, atLeast: .zero, default: .seconds(30)),
            limits: limits(),
            unmatched: root.choice(.unmatched, default: .deny),
            connect: root.list(
                .connect,
                of: "host:port",
                parse: ProxyConfiguration.ConnectPattern.init(text:)
            ),
            log: log(),
            channels: channels,
            mentions: reading.mentions
        )
    }

    static let listenForm = "host:port, unix:/path or systemd:NAME"

    private func workers() -> ProxyConfiguration.Workers {
        root.value(.workers, expected: "auto or a whole number from 1 to 64") { text in
            if text == "auto" { return .auto }
            return WholeNumber.parse(text).flatMap { (1...64).contains($0) ? .count($0) : nil }
        } ?? .auto
    }

    private func limits() -> ProxyConfiguration.Limits {
        let limits = root.section(.limits, LimitsKey.self)
        let sizes = ByteCount.kibibytes(1)...ByteCount.mebibytes(1)
        let headerSize = limits.size(.headerSize, in: sizes, default: .kibibytes(16))
        let targetSize = limits.size(.targetSize, in: sizes, default: .kibibytes(8))
        // The target is part of the header, so a larger limit would have no effect.
        if limits[.targetSize] != nil, targetSize > headerSize {
            reading.report(
                "must not be larger than header_size, which is \(headerSize)",
                at: limits.place(of: .targetSize)
            )
        }
        return ProxyConfiguration.Limits(
            headerSize: headerSize,
            headerCount: limits.integer(.headerCount, in: 1...10_000, default: 100),
            targetSize: targetSize,
            connections: limits.integer(.connections, in: 1...1_000_000, default: 4096),
            headTimeout: limits.duration(.headTimeout, default: .seconds(10)),
            bodyRate: limits.isOff(.bodyRate)
                ? nil
                : limits.size(
                    .bodyRate,
                    in: ByteCount(1)...ByteCount.mebibytes(1),
                    default: ByteCount(240)
                ),
            http2: limits.isOff(.http2) ? nil : http2(in: limits)
        )
    }

    private func http2(in limits: Section<LimitsKey>) -> ProxyConfiguration.Limits.HTTP2 {
        let http2 = limits.section(.http2, HTTP2Key.self)
        return ProxyConfiguration.Limits.HTTP2(
            streams: http2.integer(.streams, in: 1...10_000, default: 128),
            window: http2.size(
                .window,
                in: ByteCount.kibibytes(1)...ByteCount.mebibytes(4),
                default: .kibibytes(256)
            ),
            continuations: http2.integer(.continuations, in: 0...1000, default: 8),
            idleFrames: http2.integer(.idleFrames, in: 10...1_000_000, default: 1000)
        )
    }

    private func log() -> LogSettings {
        let log = root.section(.log, LogKey.self)
        let output = log.choice(.output, default: LogSettings.Output.file)
        if output == .journal, let node = log[.output] {
            reading.mention(.journal(LogSettings.journalPath), at: node)
        }
        return LogSettings(
            directory: directory(
                log.absolutePath(.directory),
                of: log,
                .directory,
                directories.log
            ),
            output: output,
            format: log.choice(.format, default: .json),
            rotate: rotation(in: log)
        )
    }

    private func rotation(in log: Section<LogKey>) -> LogSettings.Rotation? {
        if log.isOff(.rotate) { return nil }
        let rotation = log.section(.rotate, RotationKey.self)
        let sizes = ByteCount.kibibytes(64)...ByteCount.mebibytes(1 << 20)
        return LogSettings.Rotation(
            size: rotation.size(.size, in: sizes, default: .mebibytes(64)),
            keep: rotation.integer(.keep, in: 0...1000, default: 5)
        )
    }

    /// The directory for tokens; with a store that machines share, the default one, for what stays on
    /// this machine.
    private func state(isShared: Bool) -> String {
        guard isShared else {
            return directory(root.absolutePath(.state), of: root, .state, directories.state)
        }
        if directories.state == nil {
            root.require(.state, "neither systemd, XDG nor $HOME names a directory for local files")
        }
        return directories.state ?? ""
    }

    /// The configured directory or its default; a missing default is an error.
    private func directory<Key: SectionKey>(
        _ configured: String?,
        of section: Section<Key>,
        _ key: Key,
        _ fallback: String?
    ) -> String {
        if let configured {
            if let node = section[key] { reading.mention(.directory(configured), at: node) }
            return configured
        }
        if section[key] == nil, fallback == nil {
            section.require(key, "required, because neither systemd, XDG nor $HOME names a default")
        }
        return fallback ?? ""
    }

    private func admin(state: String) -> [AdminAddress] {
        guard root[.admin] != nil else {
            let path = "\(directories.runtime ?? state)/admin.sock"
            if path.utf8.count > ListenAddress.longestPath {
                root.require(
                    .admin,
                    "required, because the default socket's path has more than "
                        + "\(ListenAddress.longestPath) bytes"
                )
            }
            return [.unix(path)]
        }
        let expected = "unix:/path, a loopback host:port or off"
        return root.list(.admin, of: expected, bound: ListenAddress.bound(of:)) { text in
            switch ListenAddress(text: text) {
            case .unix(let path): return .unix(path)
            case .tcp(let address) where address.isLoopback && address.isBindable:
                return .tcp(address)
            default: return nil
            }
        }
    }
}

extension ProxyConfiguration.ConnectPattern {
    init?(text: String) {
        if let address = HostPort(text: text), address.port > 0 {
            self.init(host: address.host, port: address.port)
            return
        }
        guard let colon = text.lastIndex(of: ":"),
            let port = WholeNumber.parse(text[text.index(after: colon)...]),
            (1...65_535).contains(port), HostText.isPattern(String(text[..<colon]))
        else { return nil }
        self.init(host: text[..<colon].lowercased(), port: port)
    }
}
