import NetproxyBytes
import NetproxyHTTPMessage

/// Reads where tokens are kept between runs.
struct StateReader {
    let root: Section<RootKey>

    private var reading: Reading { root.reading }

    /// Whether `state` is a map, which names a store that machines share.
    var isShared: Bool { root[.state]?.entries != nil }

    /// The store that machines share; `nil` with a directory.
    func etcd() -> EtcdSettings? {
        guard isShared else { return nil }
        let state = root.section(.state, StateKey.self)
        guard !state.lacks(.etcd) else {
            // An unknown key has been reported, with the one that is expected.
            if root[.state]?.entries?.isEmpty == true {
                state.require(.etcd, "required, in place of the path of a directory")
            }
            return nil
        }
        let etcd = state.section(.etcd, EtcdKey.self)
        if etcd.lacks(.endpoints) { etcd.require(.endpoints) }
        if root.lacks(.stateKey) {
            root.require(
                .stateKey,
                "required with state.etcd, where everything is sealed: name the file of a key, which "
                    + "openssl rand -base64 32 makes"
            )
        }
        if etcd[.user] != nil, etcd.lacks(.password) {
            etcd.require(.password, "required with user")
        }
        if etcd[.password] != nil, etcd.lacks(.user) {
            etcd.require(.user, "required with password")
        }
        return EtcdSettings(
            endpoints: endpoints(of: etcd),
            prefix: etcd.value(.prefix, expected: "a prefix that begins and ends with a slash") {
                EtcdSettings.isPrefix($0) ? $0 : nil
            } ?? EtcdSettings.defaultPrefix,
            authorities: etcd.file(.authorities, as: Mention.Resource.authorities),
            clientCertificate: etcd.clientCertificate(.clientCertificate, .clientKey),
            user: etcd.username(.user),
            password: etcd.secret(.password)
        )
    }

    /// The client URLs of the members; without a path, since etcd's gateway has a fixed one.
    private func endpoints(of etcd: Section<EtcdKey>) -> [Origin] {
        guard let node = etcd[.endpoints] else { return [] }
        let items = node.items ?? [node]
        if items.isEmpty { reading.report("expected the URL of a member at least", at: node) }
        let origins = items.compactMap { item -> Origin? in
            guard let url = reading.url(item, EndpointURL.init(text:)) else { return nil }
            guard url.target == "/" else {
                reading.report("expected a URL without a path, such as \(url.origin)", at: item)
                return nil
            }
            if url.origin.scheme == .http, etcd[.clientCertificate] != nil {
                reading.report("expected an https URL, because of client_certificate", at: item)
            }
            if url.origin.scheme == .http, !url.origin.isLoopback, etcd[.password] != nil {
                reading.report("would send the password over http://, use https://", at: item)
            }
            return url.origin
        }
        return origins
    }

    /// The keys that seal what is stored, the first one, and that open it, all of them.
    func keys() -> [SecretReference] {
        guard let node = root[.stateKey] else { return [] }
        return (node.items ?? [node]).compactMap { item in
            guard let reference = reading.secret(item) else { return nil }
            reading.mention(.stateKey(reference), at: item)
            return reference
        }
    }
}
