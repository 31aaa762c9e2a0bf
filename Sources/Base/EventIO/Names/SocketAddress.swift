import CNetproxyLibevent
import Glibc

/// The address of a socket: an IP address with a port, or a path.
package struct SocketAddress: Sendable, Hashable, CustomStringConvertible {
    enum Kind: Sendable, Hashable {
        case ip(bytes: [UInt8], port: UInt16)
        case unix(path: String)
    }

    let kind: Kind

    /// Creates an IP address from its text (`127.0.0.1`, `::1`); returns `nil` if the text is not one.
    package init?(ip text: String, port: UInt16) {
        var four = in_addr()
        var six = in6_addr()
        // SAFETY: inet_pton writes at most the size of the family's structure.
        if unsafe inet_pton(AF_INET, text, &four) == 1 {
            kind = .ip(bytes: unsafe withUnsafeBytes(of: &four) { unsafe Array($0) }, port: port)
        } else if unsafe inet_pton(AF_INET6, text, &six) == 1 {
            kind = .ip(bytes: unsafe withUnsafeBytes(of: &six) { unsafe Array($0) }, port: port)
        } else {
            return nil
        }
    }

    /// Creates the address of a unix socket, whose path has at most 107 bytes.
    package init?(unixPath: String) {
        guard !unixPath.isEmpty, unixPath.utf8.count < 108 else { return nil }
        kind = .unix(path: unixPath)
    }

    private init(kind: Kind) {
        self.kind = kind
    }

    /// Reads an address that the system has written.
    ///
    /// The path is empty for a unix socket without one, or in the abstract namespace.
    init?(_ storage: sockaddr_storage) {
        var storage = storage
        switch Int32(storage.ss_family) {
        case AF_INET:
            // SAFETY: the family determines the content of the storage.
            let address = unsafe withUnsafeBytes(of: &storage) { raw in
                unsafe raw.loadUnaligned(as: sockaddr_in.self)
            }
            var bytes = address.sin_addr
            kind = .ip(
                bytes: unsafe withUnsafeBytes(of: &bytes) { unsafe Array($0) },
                port: UInt16(bigEndian: address.sin_port)
            )
        case AF_INET6:
            let address = unsafe withUnsafeBytes(of: &storage) { raw in
                unsafe raw.loadUnaligned(as: sockaddr_in6.self)
            }
            var bytes = address.sin6_addr
            kind = .ip(
                bytes: unsafe withUnsafeBytes(of: &bytes) { unsafe Array($0) },
                port: UInt16(bigEndian: address.sin6_port)
            )
        case AF_UNIX:
            // SAFETY: the family determines the content of the storage, which is larger than a path.
            let path = unsafe withUnsafeBytes(of: &storage) { raw in
                unsafe String(
                    decoding: raw.dropFirst(2).prefix(108).prefix { $0 != 0 },
                    as: UTF8.self
                )
            }
            kind = .unix(path: path)
        default: return nil
        }
    }

    /// The path of a unix socket that has one.
    package var unixPath: String? {
        if case .unix(let path) = kind, !path.isEmpty { return path }
        return nil
    }

    /// The port of an IP address.
    package var port: UInt16? {
        if case .ip(_, let port) = kind { return port }
        return nil
    }

    /// Whether the address is a unix socket.
    package var isUnix: Bool {
        if case .unix = kind { return true }
        return false
    }

    /// Whether the address is in 127.0.0.0/8, is ::1 (also mapped), or is a unix socket.
    package var isLoopback: Bool {
        guard case .ip(let bytes, _) = kind else { return true }
        if bytes.count == 4 { return bytes[0] == 127 }
        let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
        if Array(bytes[0..<12]) == mapped { return bytes[12] == 127 }
        return bytes == [UInt8](repeating: 0, count: 15) + [1]
    }

    /// Whether the address represents every address of the machine: 0.0.0.0 or ::.
    package var isWildcard: Bool {
        guard case .ip(let bytes, _) = kind else { return false }
        return bytes.allSatisfy { $0 == 0 }
    }

    /// Returns the same address with another port.
    func with(port: UInt16) -> SocketAddress {
        guard case .ip(let bytes, _) = kind else { return self }
        return SocketAddress(kind: .ip(bytes: bytes, port: port))
    }

    /// The system's number of the address family.
    package var family: Int32 {
        switch kind {
        case .ip(let bytes, _): bytes.count == 4 ? AF_INET : AF_INET6
        case .unix: AF_UNIX
        }
    }

    /// Calls `body` with the address in the form that system calls expect.
    func withSystemAddress<Result>(
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var storage = sockaddr_storage()
        let length: Int
        switch kind {
        case .ip(let bytes, let port) where bytes.count == 4:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            unsafe withUnsafeMutableBytes(of: &address.sin_addr) {
                unsafe $0.copyBytes(from: bytes)
            }
            length = MemoryLayout<sockaddr_in>.size
            unsafe withUnsafeMutableBytes(of: &storage) { raw in
                unsafe raw.storeBytes(of: address, as: sockaddr_in.self)
            }
        case .ip(let bytes, let port):
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            unsafe withUnsafeMutableBytes(of: &address.sin6_addr) {
                unsafe $0.copyBytes(from: bytes)
            }
            length = MemoryLayout<sockaddr_in6>.size
            unsafe withUnsafeMutableBytes(of: &storage) { raw in
                unsafe raw.storeBytes(of: address, as: sockaddr_in6.self)
            }
        case .unix(let path):
            let bytes = Array(path.utf8)
            storage.ss_family = sa_family_t(AF_UNIX)
            length = MemoryLayout<sa_family_t>.size + bytes.count + 1
            unsafe withUnsafeMutableBytes(of: &storage) { raw in
                for (index, byte) in bytes.enumerated() { unsafe raw[2 + index] = byte }
            }
        }
        // SAFETY: the storage outlives the call, and is large enough for every family.
        return unsafe withUnsafePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(length))
            }
        }
    }

    /// The text `127.0.0.1:80`, `[::1]:80` or `unix:/path`; `unix` without a path, as for a client.
    package var description: String {
        switch kind {
        case .unix(let path): return path.isEmpty ? "unix" : "unix:\(path)"
        case .ip(let bytes, let port) where bytes.count == 4:
            return bytes.map(String.init).joined(separator: ".") + ":\(port)"
        case .ip(let bytes, let port):
            var text = [CChar](repeating: 0, count: 64)
            // SAFETY: inet_ntop writes at most 64 bytes, which is the size of `text`.
            _ = unsafe inet_ntop(AF_INET6, bytes, &text, 64)
            let name = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
            return "[\(name)]:\(port)"
        }
    }
}
