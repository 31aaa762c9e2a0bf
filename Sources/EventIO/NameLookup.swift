import CLibevent
import Glibc

/// Asks the system's resolver for the addresses of a name; blocks its thread.
package enum NameLookup {
    /// Why there is no address.
    package struct Failure: Error, Sendable, Equatable {
        /// In the system's words.
        package let reason: String
        /// Whether it says nothing about the name: name servers that do not answer, no descriptors.
        package let mayPass: Bool

        /// Says why.
        package init(reason: String, mayPass: Bool) {
            self.reason = reason
            self.mayPass = mayPass
        }
    }

    /// The addresses of a name, without a port, in the order to try them (RFC 6724).
    ///
    /// `localhost` and the names below it have both loopback addresses, whatever the system says
    /// beside that (RFC 6761 §6.3): it leaves ::1 out on a machine without another IPv6 address.
    package static func addresses(of host: String) -> Result<[SocketAddress], Failure> {
        let found = ask(host)
        guard isLocal(host) else { return found }
        var addresses = (try? found.get()) ?? []
        guard addresses.allSatisfy(\.isLoopback) else { return found }
        for text in ["127.0.0.1", "::1"] {
            guard let address = SocketAddress(ip: text, port: 0), !addresses.contains(address)
            else { continue }
            addresses.append(address)
        }
        return .success(addresses)
    }

    private static func isLocal(_ host: String) -> Bool {
        let name = host.lowercased()
        return name == "localhost" || name.hasSuffix(".localhost")
    }

    private static func ask(_ host: String) -> Result<[SocketAddress], Failure> {
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
            // SAFETY: getaddrinfo tells the length of the address, which fits the storage.
            unsafe memcpy(&storage, entry.pointee.ai_addr, Int(entry.pointee.ai_addrlen))
            if let address = SocketAddress(storage), !found.contains(address) {
                found.append(address)
            }
            unsafe next = entry.pointee.ai_next
        }
        return found.isEmpty
            ? .failure(Failure(reason: "no address", mayPass: false)) : .success(found)
    }

    private static func explain(_ code: Int32, _ errno: Int32) -> Failure {
        // What EAI_SYSTEM means, errno says.
        let words =
            code == EAI_SYSTEM
            ? describe(errno: errno)
            : unsafe gai_strerror(code).map { unsafe String(cString: $0) } ?? "unknown name"
        let mayPass = [EAI_AGAIN, EAI_FAIL, EAI_MEMORY, EAI_SYSTEM].contains(code)
        return Failure(reason: words, mayPass: mayPass)
    }
}

extension SocketAddress {
    /// The same address with another port.
    func with(port: UInt16) -> SocketAddress {
        guard case .ip(let bytes, _) = kind else { return self }
        return SocketAddress(kind: .ip(bytes: bytes, port: port))
    }

    init(kind: Kind) {
        self.kind = kind
    }
}
