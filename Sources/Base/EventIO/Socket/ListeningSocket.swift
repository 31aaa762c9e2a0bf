import CNetproxyLibevent
import Glibc
import NetproxySystem

/// A bound and listening socket, from which loops create their listeners.
package struct ListeningSocket: ~Copyable, Sendable {
    let descriptor: Int32
    /// The address, with the port chosen by the system if none was given.
    package let address: SocketAddress
    /// Whether systemd opened it.
    package let isInherited: Bool
    private let place: SocketFile?

    /// The path of a unix socket, and the identity of its file.
    private struct SocketFile {
        let path: String
        let file: FileStatus?

        init(_ path: String) {
            self.path = path
            file = SocketFile.file(at: path)
        }

        /// Removes the socket, unless the path now leads to something else, such as another daemon's socket.
        func clear() {
            guard let file, let present = SocketFile.file(at: path), present.isSameFile(as: file)
            else {
                return
            }
            _ = unsafe unlink(path)
        }

        private static func file(at path: String) -> FileStatus? {
            do throws(FileError) { return try FileStatus.ofEntry(at: path) } catch { return nil }
        }
    }

    /// Binds and listens.
    ///
    /// A stale unix socket, on which no process listens, is replaced; one with a listener is an error.
    ///
    /// - Parameters:
    ///   - wanted: the address to bind.
    ///   - mode: the permissions of a unix socket, set before a client can connect.
    ///   - backlog: the maximum number of connections that wait to be accepted.
    /// - Throws: `IOError.system` that names the address.
    package init(
        _ wanted: SocketAddress,
        mode: UInt32 = 0o600,
        backlog: Int32 = 4096
    ) throws(IOError) {
        if case .unix(let path) = wanted.kind { try ListeningSocket.removeStale(path, wanted) }
        guard let socket = SocketDescriptor.open(family: wanted.family) else {
            throw .system(describe(errno: systemError()))
        }
        let descriptor = socket.number
        var one: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        if !wanted.isUnix {
            // SAFETY: the option outlives the call.
            unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, size)
            socket.setTCPOptions()
        }
        let bound = unsafe wanted.withSystemAddress { unsafe bind(descriptor, $0, $1) }
        // Set the mode before listening: clients that connect earlier are refused.
        var failure = bound == 0 ? 0 : systemError()
        if failure == 0, case .unix(let path) = wanted.kind, unsafe chmod(path, mode) != 0 {
            failure = systemError()
        }
        if failure == 0, listen(descriptor, backlog) != 0 { failure = systemError() }
        guard failure == 0 else {
            let reason = describe(errno: failure)
            if bound == 0, case .unix(let path) = wanted.kind { _ = unsafe unlink(path) }
            socket.close()
            let port = failure == EADDRINUSE ? wanted.port : nil
            let advice = port.map { "; ss -ltnp 'sport = :\($0)' shows which program has it" } ?? ""
            throw .system("cannot listen on \(wanted): \(reason)\(advice)")
        }
        if case .unix(let path) = wanted.kind {
            place = SocketFile(path)
            address = wanted
        } else {
            place = nil
            address = socket.localAddress ?? wanted
        }
        isInherited = false
        self.descriptor = descriptor
    }

    /// Takes over a descriptor that systemd opened.
    ///
    /// - Throws: `IOError.system` if it is not a listening socket; the descriptor then stays open.
    package init(inherited descriptor: Int32) throws(IOError) {
        var listens: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        // SAFETY: the option outlives the call, and its size is given.
        let code = unsafe getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size)
        guard code == 0, listens != 0,
            let address = SocketDescriptor(descriptor).localAddress
        else { throw .system("descriptor \(descriptor) is not a listening socket") }
        if !address.isUnix { SocketDescriptor(descriptor).setTCPOptions() }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        self.descriptor = descriptor
        self.address = address
        isInherited = true
        place = nil
    }

    deinit {
        // Remove the path first: a daemon that finds no listener may take it at once.
        place?.clear()
        _ = close(descriptor)
    }

    private static func removeStale(_ path: String, _ address: SocketAddress) throws(IOError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw .system("cannot listen on \(address): the file exists and is not a socket")
        }
        guard let probe = SocketDescriptor.open(family: AF_UNIX) else {
            throw .system(describe(errno: systemError()))
        }
        defer { probe.close() }
        let code = unsafe address.withSystemAddress { unsafe connect(probe.number, $0, $1) }
        let failure = code == 0 ? 0 : systemError()
        switch failure {
        case ECONNREFUSED, ENOENT: _ = unsafe unlink(path)
        // EAGAIN: the owner listens but is too busy to accept.
        case 0, EAGAIN:
            throw .system("cannot listen on \(address): another process answers there")
        // Other errors do not prove that the socket is stale: it may belong to another user.
        default:
            throw .system("cannot listen on \(address): \(describe(errno: failure))")
        }
    }
}
