import NetproxyHTTPMessage
import NetworkCore
import OAuth

/// The reason why etcd could not be used.
package struct EtcdFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds, as metrics and logs name them.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// No response arrived in time: a slow disk, a partition, or too few members for a decision.
        case slow
        /// No member accepts connections.
        case unreachable
        /// A certificate was refused, by us or by etcd.
        case tls
        /// The members have no leader, or too few are available.
        case noLeader = "no_leader"
        /// The database has reached its quota: etcd takes no writes.
        case full
        /// The user may not use the prefix, or is unknown.
        case denied
        /// A lease has ended.
        case leaseLost = "lease_lost"
        /// The stored bytes were not written by netproxy, or were sealed with another key.
        case foreign
        /// Any other response.
        case unexpected
    }

    /// The kind of the fault.
    package var kind: Kind
    /// The fault as one clause, without secrets.
    package var detail: String

    /// Describes a fault.
    package init(_ kind: Kind, _ detail: String) {
        (self.kind, self.detail) = (kind, detail)
    }

    /// The detail, with the name of the store.
    package var description: String { "etcd: \(detail)" }

    /// Whether another member may do better.
    var mayDependOnMember: Bool {
        switch kind {
        case .slow, .unreachable, .tls, .noLeader, .unexpected: true
        case .full, .denied, .leaseLost, .foreign: false
        }
    }

    /// For the token engine: there may be a newer refresh token than any known.
    var storeError: TokenStoreError { .unreadable(description) }
}

/// Whether members see a client certificate.
package enum EtcdClientCertificate: Sendable {
    case none
    /// A member may refuse the certificate by ending the connection.
    case shown
}

extension EtcdFault {
    /// The fault of a request without a response.
    ///
    /// - Parameters:
    ///   - error: the thrown error.
    ///   - origin: the member.
    ///   - certificate: whether the member sees a client certificate.
    init(
        _ error: any Error,
        from origin: Origin,
        showing certificate: EtcdClientCertificate = .none
    ) {
        let words = NetworkError.words(of: error)
        switch (error as? NetworkError)?.kind {
        case .tlsCertificateError, .tlsProtocolError:
            self.init(.tls, "\(origin) and netproxy do not trust each other: \(words)")
        case .httpResponseTimeout, .connectionTimeout, .connectionReadTimeout,
            .connectionWriteTimeout, .dnsTimeout:
            self.init(.slow, "\(origin) does not respond in time (\(words))")
        case .connectionTerminated where certificate == .shown:
            self.init(
                .unreachable,
                "\(origin) ends connections (\(words)); if this continues, it does not trust the client "
                    + "certificate"
            )
        default:
            self.init(.unreachable, "\(origin) cannot be reached (\(words))")
        }
    }

    /// The fault that etcd reports instead of a response.
    ///
    /// - Parameters:
    ///   - code: gRPC's status code.
    ///   - message: etcd's message.
    ///   - origin: the member.
    init(code: Int, message: String, from origin: Origin) {
        let words = ServerWords.clean(message, secrets: []) ?? "code \(code)"
        let text = message.lowercased()
        func says(_ part: String) -> Bool { text.contains(part) }
        if says("no leader") || says("leader changed") || says("not capable") {
            self.init(.noLeader, "\(origin): the cluster has no leader (\(words))")
        } else if says("request timed out") || says("too many requests") || code == 4 {
            self.init(.slow, "\(origin): too few members answer in time (\(words))")
        } else if says("no space") || says("database space exceeded") {
            self.init(
                .full,
                "\(origin): the database is full and takes no writes (\(words)); compact and "
                    + "defragment it, then disarm the alarm"
            )
        } else if says("requested lease not found") {
            self.init(.leaseLost, "\(origin): \(words)")
        } else if code == 7 || code == 16 || says("authentication") || says("auth token")
            || says("user name is empty") || says("auth store is old")
        {
            self.init(
                .denied,
                "\(origin): access is denied (\(words)); check user, role and prefix"
            )
        } else if code == 14 {
            self.init(.unreachable, "\(origin): \(words)")
        } else {
            self.init(.unexpected, "\(origin): \(words)")
        }
    }

    /// Whether a new login is needed.
    var needsLogin: Bool {
        kind == .denied
            && ["auth token", "user name is empty", "auth store is old"].contains {
                detail.contains($0)
            }
    }
}
