import NetproxyHTTPMessage
import NetproxySettings

struct StateKeys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = "{ etcd: { endpoints: [https://10.0.0.1:2379] } }"

    let etcd = Key("etcd", EtcdKeys.self)
}

struct EtcdKeys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = "{ endpoints: [https://10.0.0.1:2379] }"

    let endpoints = Key("endpoints", .list(.url), default: [])
    let prefix = Key(
        "prefix",
        .text("a prefix that begins and ends with a slash", where: EtcdSettings.isPrefix),
        default: .scalar(EtcdSettings.defaultPrefix)
    )
    let user = Key("user", .username)
    let password = Key("password", .secret)
    let authorities = Key("ca", .file { .authorities($0) })
    let clientCertificate = Key("client_certificate", .file { .certificates($0) })
    let clientKey = Key("client_key", .file { .certificates($0) })
}

/// Reads the settings of the token store.
struct StateReader {
    let root: Section<RootKeys>
    let directories: DefaultDirectories

    /// Returns the directory for tokens; with a shared store, the default directory, for local files.
    func directory() -> String {
        switch root[\.state] {
        case .scalar(let path)?: return root.state.directory(path, or: directories.state)
        case nil: return root.state.directory(nil, or: directories.state)
        case .map?:
            if directories.state == nil {
                root.state.require(
                    "neither systemd, XDG nor $HOME names a directory for local files"
                )
            }
            return directories.state ?? ""
        }
    }

    /// Returns the store that machines share, or `nil` with a directory.
    func etcd() -> EtcdSettings? {
        guard let state = root[\.state]?.map else { return nil }
        guard !state.etcd.isMissing else {
            // An unknown key has been reported, with the expected name.
            if root.state.node?.entries?.isEmpty == true {
                state.etcd.require("required, in place of the path of a directory")
            }
            return nil
        }
        let etcd = state[\.etcd]
        if etcd.endpoints.isMissing { etcd.endpoints.require() }
        if root.stateKey.isMissing {
            root.stateKey.require(
                "required with state.etcd, where everything is sealed: name the file of a key, which "
                    + "openssl rand -base64 32 makes"
            )
        }
        if etcd.user.isWritten { etcd.password.requireWritten("required with user") }
        if etcd.password.isWritten { etcd.user.requireWritten("required with password") }
        var tls = TLSDemands()
        tls.authorities = etcd[\.authorities]
        tls.clientCertificate = etcd.certificate(\.clientCertificate, with: \.clientKey)
        return EtcdSettings(
            endpoints: endpoints(of: etcd),
            prefix: etcd[\.prefix],
            tls: tls,
            user: etcd[\.user],
            password: etcd[\.password]
        )
    }

    /// Returns the client URLs of the members, without a path, since etcd's gateway has a fixed one.
    private func endpoints(of etcd: Section<EtcdKeys>) -> [Origin] {
        let slot = etcd.endpoints
        if slot.isWritten, slot.items.isEmpty {
            slot.report("expected the URL of a member at least")
        }
        return slot.items.compactMap { item -> Origin? in
            let item = slot.with(item)
            guard let url = Form<EndpointURL>.url.read(item) else { return nil }
            guard url.target == "/" else {
                item.report("expected a URL without a path, such as \(url.origin)")
                return nil
            }
            if url.origin.scheme == .http, etcd.clientCertificate.isWritten {
                item.report("expected an https URL, because of client_certificate")
            }
            if url.origin.scheme == .http, !url.origin.isLoopback, etcd.password.isWritten {
                item.report("would send the password over http://, use https://")
            }
            return url.origin
        }
    }
}
