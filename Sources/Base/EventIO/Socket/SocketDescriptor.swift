import CNetproxyLibevent
import Glibc
import NetproxyBytes
import NetproxySystem

/// The descriptor of a stream socket, and its system calls.
///
/// The calls retry when interrupted, and keep no state.
struct SocketDescriptor {
    let number: Int32

    /// The result of a call that moves bytes.
    enum Transfer {
        case count(Int)
        /// The kernel has no bytes, or no room for any.
        case wouldBlock
        /// The error number.
        case failure(Int32)
    }

    init(_ number: Int32) {
        self.number = number
    }

    /// Opens a socket that does not block, or returns `nil` and sets `errno`.
    static func open(family: Int32) -> SocketDescriptor? {
        let type = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        let number = socket(family, Int32(type), 0)
        return number < 0 ? nil : SocketDescriptor(number)
    }

    func close() { _ = Glibc.close(number) }

    // MARK: - Bytes

    @inline(__always)
    func receive(_ bytes: UnsafeMutableRawPointer?, _ room: Int) -> Transfer {
        transfer { unsafe recv(number, bytes, room, 0) }
    }

    @inline(__always)
    func send(_ bytes: UnsafeRawPointer?, _ count: Int) -> Transfer {
        transfer { unsafe Glibc.send(number, bytes, count, Int32(MSG_NOSIGNAL)) }
    }

    /// Sends the bytes after the first `offset` bytes of the output and the body, gathered.
    @inline(__always)
    func send(_ output: OutputBuffer, _ body: ByteSlice?, from offset: Int) -> Transfer {
        let headLeft = max(output.count - offset, 0)
        let bodyOffset = max(offset - output.count, 0)
        let bodyLeft = (body?.count ?? 0) - bodyOffset
        // SAFETY: output and body are kept alive by the caller for the duration of the call.
        guard headLeft > 0 else {
            guard let body else { return .count(0) }
            return unsafe send(body.unsafeAddress + bodyOffset, bodyLeft)
        }
        guard bodyLeft > 0, let body else {
            return unsafe send(output.unsafeAddress + offset, headLeft)
        }
        var pieces = unsafe (
            iovec(
                iov_base: UnsafeMutableRawPointer(mutating: output.unsafeAddress + offset),
                iov_len: headLeft
            ),
            iovec(
                iov_base: UnsafeMutableRawPointer(mutating: body.unsafeAddress),
                iov_len: bodyLeft
            )
        )
        return transfer {
            unsafe withUnsafePointer(to: &pieces) { pointer in
                unsafe pointer.withMemoryRebound(to: iovec.self, capacity: 2) {
                    unsafe writev(number, $0, 2)
                }
            }
        }
    }

    @inline(__always)
    private func transfer(_ call: () -> Int) -> Transfer {
        while true {
            let count = call()
            if count >= 0 { return .count(count) }
            let code = systemError()
            if code == EAGAIN { return .wouldBlock }
            if code != EINTR { return .failure(code) }
        }
    }

    /// Whether the kernel has neither bytes nor the end of the stream.
    var isDrained: Bool {
        var byte: UInt8 = 0
        // SAFETY: one byte on the stack, and MSG_PEEK leaves the stream as it is.
        let count = unsafe recv(number, &byte, 1, Int32(MSG_PEEK))
        return count < 0 && systemError() == EAGAIN
    }

    // MARK: - Ends

    /// Whether the peer has reset the connection, or it broke.
    var isBroken: Bool {
        var state = pollfd(fd: number, events: 0, revents: 0)
        // SAFETY: one structure on the stack, and no wait.
        return unsafe poll(&state, 1, 0) == 1 && state.revents & Int16(POLLERR) != 0
    }

    /// Takes the error that the kernel keeps for the socket, or 0.
    func takeError() -> Int32 {
        var pending: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        // SAFETY: the variable lives for the call, and its size is given.
        let code = unsafe getsockopt(number, SOL_SOCKET, SO_ERROR, &pending, &length)
        return code == 0 ? pending : systemError()
    }

    /// Makes `close()` reset the connection.
    func resetOnClose() {
        var option = linger(l_onoff: 1, l_linger: 0)
        let size = socklen_t(MemoryLayout<linger>.size)
        // SAFETY: the option lives for the call.
        _ = unsafe setsockopt(number, SOL_SOCKET, SO_LINGER, &option, size)
    }

    /// Sends the end of the stream.
    func shutdownWriting() { _ = shutdown(number, Int32(SHUT_WR)) }

    // MARK: - Options

    /// The most unsent data that the kernel accepts, in bytes: 256 KiB.
    ///
    /// Without a limit it takes megabytes for a reader that stops, and reports room to a slow
    /// reader's writer so seldom that the idle timeout passes in between.
    private static let unsentLimit: Int32 = 256 * 1024

    /// Sets the options of every TCP connection; connections that a listener accepts inherit them.
    func setTCPOptions() {
        var one: Int32 = 1
        var unsent = SocketDescriptor.unsentLimit
        let size = socklen_t(MemoryLayout<Int32>.size)
        // SAFETY: the options live for the calls.
        unsafe setsockopt(number, Int32(IPPROTO_TCP), TCP_NODELAY, &one, size)
        unsafe setsockopt(number, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, &unsent, size)
    }

    /// How the kernel finds out that the other end of an idle connection is gone: a probe after 10 s
    /// without a segment, then every 5 s, and the end after the third without an answer.
    ///
    /// NAT devices and firewalls forget a connection without a word, and so does a machine that loses
    /// its power.
    private static let probing: [(option: Int32, value: Int32)] = [
        (TCP_KEEPIDLE, 10), (TCP_KEEPINTVL, 5), (TCP_KEEPCNT, 3),
    ]

    /// Makes the kernel probe the other end while no data is sent.
    func probeIdlePeer() {
        set(SOL_SOCKET, SO_KEEPALIVE, 1)
        for (option, value) in SocketDescriptor.probing {
            set(Int32(IPPROTO_TCP), option, value)
        }
    }

    /// Sets how long data may be unacknowledged before the kernel ends the connection, in
    /// milliseconds; 0 leaves that to its own count of retransmissions, some 15 minutes.
    func limitSilence(milliseconds: Int32) {
        set(Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, milliseconds)
    }

    private func set(_ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        let size = socklen_t(MemoryLayout<Int32>.size)
        // SAFETY: the option lives for the call. A kernel that lacks it only finds out later.
        _ = unsafe setsockopt(number, level, option, &value, size)
    }

    /// TCP's knowledge of the sent data; `nil` for a unix socket.
    var flight: SentData? {
        var flight = netproxy_flight()
        // SAFETY: the structure lives for the call.
        guard unsafe netproxy_read_flight(number, &flight) == 0 else { return nil }
        return SentData(
            isDelivered: flight.queued == 0,
            isUnanswered: flight.unacknowledged > 0 || flight.probes > 0,
            silence: UInt64(flight.silence_ms) * 1_000_000
        )
    }

    /// The address of this end.
    var localAddress: SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let code = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(number, $0, &length)
            }
        }
        return code == 0 ? SocketAddress(storage) : nil
    }

    /// The process that connected at the other end of a unix socket.
    var peerProcess: PeerProcess? {
        var credentials = netproxy_ucred()
        var length = socklen_t(MemoryLayout<netproxy_ucred>.size)
        // SAFETY: the structure lives for the call, and its size is given.
        let code = unsafe getsockopt(number, SOL_SOCKET, SO_PEERCRED, &credentials, &length)
        guard code == 0 else { return nil }
        // 0 for a process that this one's namespace does not show.
        let id = credentials.pid == 0 ? nil : credentials.pid
        return PeerProcess(userID: credentials.uid, processID: id)
    }
}

/// TCP's knowledge of the data sent on a connection.
struct SentData: Equatable {
    /// Whether the peer has acknowledged all of it.
    var isDelivered: Bool
    /// Whether segments, or probes of a full peer, are on their way without an acknowledgment.
    ///
    /// A peer that does not read, but answers the probes of its closed window, is not silent.
    var isUnanswered: Bool
    /// The time since the last acknowledgment, in nanoseconds.
    var silence: UInt64
}
