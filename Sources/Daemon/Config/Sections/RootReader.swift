/// Reads the top-level keys of a configuration.
struct RootReader {
    let root: Section<RootKeys>
    let directories: DefaultDirectories

    /// Reads everything except the channels, which are a parameter.
    func configuration(channels: [ChannelConfiguration]) -> ProxyConfiguration {
        let state = StateReader(root: root, directories: directories)
        let directory = state.directory()
        return ProxyConfiguration(
            listen: root[\.listen],
            allowRemote: root[\.allowRemote],
            admin: admin(state: directory),
            state: directory,
            etcd: state.etcd(),
            stateKeys: root[\.stateKey],
            workers: root[\.workers],
            busyPoll: root[\.busyPoll],
            drain: root[\.drain],
            limits: ProxyConfiguration.Limits(root[\.limits]),
            unmatched: root[\.unmatched],
            connect: root[\.connect],
            log: LogSettings(root[\.log], directories: directories),
            channels: channels,
            mentions: root.reading.mentions
        )
    }

    private func admin(state: String) -> [AdminAddress] {
        if let admin = root[\.admin] { return admin }
        let path = "\(directories.runtime ?? state)/admin.sock"
        if path.utf8.count > ListenAddress.longestPath {
            root.admin.require(
                "required, because the default socket's path has more than "
                    + "\(ListenAddress.longestPath) bytes"
            )
        }
        return [.unix(path)]
    }
}

extension Slot {
    /// Returns the configured directory or its default; a missing default is an error.
    func directory(_ configured: String?, or fallback: String?) -> String {
        if let configured {
            mention(.directory(configured))
            return configured
        }
        if fallback == nil {
            requireWritten(
                "required, because neither systemd, XDG nor $HOME names a default"
            )
        }
        return fallback ?? ""
    }
}
