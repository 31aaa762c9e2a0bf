import Glibc
// The C struct timeval belongs to this module or to Glibc, depending on which the compiler loads first.
import SwiftOverlayShims

/// A unix datagram socket that sends whole messages to a path with a short wait for the reader.
package struct DatagramSocket: ~Copyable, Sendable {
    private let descriptor: Int32

    /// Opens a socket for sending.
    ///
    /// - Parameter milliseconds: the longest wait for a reader with a full queue.
    /// - Throws: `FileError`.
    package init(waitingAtMost milliseconds: Int = 0) throws(FileError) {
        let isPatient = milliseconds > 0
        let flags = SOCK_CLOEXEC.rawValue | (isPatient ? 0 : SOCK_NONBLOCK.rawValue)
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | flags), 0)
        if descriptor < 0 { throw FileError("socket") }
        guard isPatient else { return }
        var limit = timeval(
            tv_sec: milliseconds / 1000,
            tv_usec: milliseconds % 1000 * 1000
        )
        let size = socklen_t(MemoryLayout<timeval>.size)
        // SAFETY: the limit outlives the call, and its size is given.
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
    }

    /// Opens a socket for receiving, at a path that does not exist yet.
    package static func receiving(at path: String) throws(FileError) -> DatagramSocket {
        let socket = try DatagramSocket()
        var (address, length) = try DatagramSocket.address(path)
        // SAFETY: the address outlives the call.
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(socket.descriptor, $0, length)
            }
        }
        guard result == 0 else { throw FileError("bind") }
        return socket
    }

    deinit {
        _ = close(descriptor)
    }

    /// Sends one message to a path.
    ///
    /// A leading `@` represents the zero byte of an abstract socket (unix(7)).
    ///
    /// - Throws: `EAGAIN` if the reader's queue is full, `ENOENT` or `ECONNREFUSED` without a reader,
    ///   `EMSGSIZE` for a message that is too long.
    package func send(_ message: Span<UInt8>, to path: String) throws(FileError) {
        var (address, length) = try DatagramSocket.address(path)
        // SAFETY: message and address outlive the call, which only reads them.
        let code = unsafe message.withUnsafeBytes { bytes in
            unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                    let sent = unsafe sendto(
                        descriptor,
                        bytes.baseAddress,
                        bytes.count,
                        Int32(MSG_NOSIGNAL),
                        name,
                        length
                    )
                    return sent < 0 ? errno : 0
                }
            }
        }
        guard code == 0 else { throw FileError("sendto", code: code) }
    }

    /// Returns the next received message, or `nil`.
    package func receive() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 65536)
        let count = unsafe recv(descriptor, &bytes, bytes.count, 0)
        return count >= 0 ? Array(bytes.prefix(count)) : nil
    }

    private static func address(
        _ path: String
    ) throws(FileError) -> (sockaddr_un, socklen_t) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(path.utf8)
        let isAbstract = bytes.first == UInt8(ascii: "@")
        if isAbstract { bytes[0] = 0 }
        guard bytes.count < 108 else { throw FileError("bind", code: ENAMETOOLONG) }
        // SAFETY: the check above ensures that the path fits into sun_path.
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        // All bytes of an abstract name are significant; a path ends with a zero byte.
        let length = MemoryLayout<sa_family_t>.size + bytes.count + (isAbstract ? 0 : 1)
        return (address, socklen_t(length))
    }
}
