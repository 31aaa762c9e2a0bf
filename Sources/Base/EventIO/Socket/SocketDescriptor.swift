import CNetproxyLibevent
import Glibc
import NetproxyBytes
import NetproxySystem

/// The descriptor of a stream socket, and its system calls.
///
/// The calls retry after an interruption, and keep no state.
struct SocketDescriptor {
    let number: Int32

    /// The result of a call that transfers bytes.
    enum Transfer {
        case count(Int)
        /// The kernel has no bytes, or no room for more.
        case wouldBlock
        /// The call failed; contains the error number.
        case failure(Int32)
    }

    init(_ number: Int32) {
        self.number = number
    }

    /// Opens a nonblocking socket, or returns `nil` and sets `errno`.
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

    /// Sends the output and the body in one call, without the first `offset` bytes.
    @inline(__always)
    func send(_ output: OutputBuffer, _ body: ByteSlice?, from offset: Int) -> Transfer {
        let headLeft = max(output.count - offset, 0)
        let bodyOffset = max(offset - output.count, 0)
        let bodyLeft = (body?.count ?? 0) - bodyOffset
        // SAFETY: the caller keeps output and body alive during the call.
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
        // SAFETY: one byte on the stack, and MSG_PEEK leaves the stream unchanged.
        let count = unsafe recv(number, &byte, 1, Int32(MSG_PEEK))
        return count < 0 && systemError() == EAGAIN
    }

    // MARK: - Shutdown and errors

    /// Whether the peer has reset the connection, or it broke.
    var isBroken: Bool {
        var state = pollfd(fd: number, events: 0, revents: 0)
        // SAFETY: one structure on the stack, and no wait.
        return unsafe poll(&state, 1, 0) == 1 && state.revents & Int16(POLLERR) != 0
    }

    /// Removes and returns the pending error of the socket, or 0.
    func takeError() -> Int32 {
        var pending: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        // SAFETY: the variable outlives the call, and its size is given.
        let code = unsafe getsockopt(number, SOL_SOCKET, SO_ERROR, &pending, &length)
        return code == 0 ? pending : systemError()
    }

    /// Makes `close()` reset the connection.
    func resetOnClose() {
        var option = linger(l_onoff: 1, l_linger: 0)
        let size = socklen_t(MemoryLayout<linger>.size)
        // SAFETY: the option outlives the call.
        _ = unsafe setsockopt(number, SOL_SOCKET, SO_LINGER, &option, size)
    }

    /// Sends the end of the stream.
    func shutdownWriting() { _ = shutdown(number, Int32(SHUT_WR)) }

    // MARK: - Options

    /// The maximum amount of unsent data that the kernel accepts, in bytes: 256 KiB.
    ///
    /// Without a limit it accepts megabytes for a stopped reader. It then reports room so rarely that the
    /// idle timeout passes even though a slow reader makes progress.
    private static let unsentLimit: Int32 = 256 * 1024

    /// Sets the options of every TCP connection; accepted connections inherit them from the listener.
    func setTCPOptions() {
        var one: Int32 = 1
        var unsent = SocketDescriptor.unsentLimit
        let size = socklen_t(MemoryLayout<Int32>.size)
        // SAFETY: the options outlive the calls.
        unsafe setsockopt(number, Int32(IPPROTO_TCP), TCP_NODELAY, &one, size)
        unsafe setsockopt(number, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, &unsent, size)
    }

    /// The keep-alive probes on an idle connection: first after 10 s without a segment, then every 5 s.
    ///
    /// The connection ends after the third probe without a response. NAT devices and firewalls drop
    /// connections silently, and so does a machine that loses power.
    private static let probing: [(option: Int32, value: Int32)] = [
        (TCP_KEEPIDLE, 10), (TCP_KEEPINTVL, 5), (TCP_KEEPCNT, 3),
    ]

    /// Makes the kernel probe the peer while no data is sent.
    func probeIdlePeer() {
        set(SOL_SOCKET, SO_KEEPALIVE, 1)
        for (option, value) in SocketDescriptor.probing {
            set(Int32(IPPROTO_TCP), option, value)
        }
    }

    /// Sets the maximum time in milliseconds that sent data may be unacknowledged before the kernel ends the
    /// connection.
    ///
    /// 0 leaves the decision to the kernel's retransmissions, which take about 15 minutes.
    func limitSilence(milliseconds: Int32) {
        set(Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, milliseconds)
    }

    private func set(_ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        let size = socklen_t(MemoryLayout<Int32>.size)
        // SAFETY: the option outlives the call. A kernel without it merely detects the failure later.
        _ = unsafe setsockopt(number, level, option, &value, size)
    }

    /// TCP's information about sent data; `nil` for a unix socket.
    var flight: SentData? {
        var flight = netproxy_flight()
        // SAFETY: the structure outlives the call.
        guard unsafe netproxy_read_flight(number, &flight) == 0 else { return nil }
        return SentData(
            isDelivered: flight.queued == 0,
            isUnanswered: flight.unacknowledged > 0 || flight.probes > 0,
            silence: UInt64(flight.silence_ms) * 1_000_000
        )
    }

    /// The local address.
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

    /// The process at the other end of a unix socket.
    var peerProcess: PeerProcess? {
        var credentials = netproxy_ucred()
        var length = socklen_t(MemoryLayout<netproxy_ucred>.size)
        // SAFETY: the structure outlives the call, and its size is given.
        let code = unsafe getsockopt(number, SOL_SOCKET, SO_PEERCRED, &credentials, &length)
        guard code == 0 else { return nil }
        // 0 for a process that is not visible in this namespace.
        let id = credentials.pid == 0 ? nil : credentials.pid
        return PeerProcess(userID: credentials.uid, processID: id)
    }
}

/// TCP's information about the data sent on a connection.
struct SentData: Equatable {
    /// Whether the peer has acknowledged all data.
    var isDelivered: Bool
    /// Whether segments, or probes of a closed window, are in flight without an acknowledgment.
    ///
    /// A peer that does not read but acknowledges the probes of its closed window is not silent.
    var isUnanswered: Bool
    /// The time since the last acknowledgment, in nanoseconds.
    var silence: UInt64
}
