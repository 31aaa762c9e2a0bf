import CNetproxyLibevent
import Glibc
import NetproxySystem

/// Looks up the addresses of a name with the system's resolver; blocks the calling thread.
package enum NameLookup {
    /// The reason for the lack of an address.
    package struct Failure: Error, Sendable, Equatable {
        /// Whether the next lookup may succeed.
        package enum Persistence: Sendable {
            /// The name has no address.
            case permanent
            /// The lookup failed: the name servers do not respond, or no descriptors are left.
            case temporary
        }

        /// The system's message.
        package let reason: String
        /// Whether the next lookup may succeed.
        package let persistence: Persistence

        /// Creates a failure.
        package init(_ persistence: Persistence, reason: String) {
            self.reason = reason
            self.persistence = persistence
        }
    }

    /// Returns both loopback addresses for `localhost` and the names below it, without a lookup (RFC 6761
    /// §6.3).
    ///
    /// Returns `nil` for other names. Credentials may be sent unencrypted to such a name, so no name server
    /// may redirect it. The system omits ::1 on a machine without another IPv6 address.
    static func loopback(_ host: String) -> [SocketAddress]? {
        let name = host.lowercased()
        guard name == "localhost" || name.hasSuffix(".localhost") else { return nil }
        return ["127.0.0.1", "::1"].compactMap { SocketAddress(ip: $0, port: 0) }
    }

    /// Returns the addresses of a name, without a port, in order of preference (RFC 6724).
    package static func addresses(of host: String) -> Result<[SocketAddress], Failure> {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        unsafe hints.ai_flags = AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(host, nil, &hints, &list)
        let failure = systemError()
        guard code == 0 else { return .failure(explain(code, failure)) }
        defer { unsafe freeaddrinfo(list) }
        var found: [SocketAddress] = []
        var next = unsafe list
        while let entry = unsafe next {
            var storage = sockaddr_storage()
            // SAFETY: getaddrinfo returns the length of the address, which fits the storage.
            unsafe memcpy(&storage, entry.pointee.ai_addr, Int(entry.pointee.ai_addrlen))
            if let address = SocketAddress(storage), !found.contains(address) {
                found.append(address)
            }
            unsafe next = entry.pointee.ai_next
        }
        return found.isEmpty
            ? .failure(Failure(.permanent, reason: "no address")) : .success(found)
    }

    private static func explain(_ code: Int32, _ errno: Int32) -> Failure {
        // For EAI_SYSTEM the reason is in errno.
        let words =
            code == EAI_SYSTEM
            ? describe(errno: errno)
            : unsafe gai_strerror(code).map { unsafe String(cString: $0) } ?? "unknown name"
        let isTemporary = [EAI_AGAIN, EAI_FAIL, EAI_MEMORY, EAI_SYSTEM].contains(code)
        return Failure(isTemporary ? .temporary : .permanent, reason: words)
    }
}
