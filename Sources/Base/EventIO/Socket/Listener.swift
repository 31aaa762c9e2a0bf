import CNetproxyLibevent
import Glibc
import NetproxySystem

/// A listening socket on a loop; it passes every accepted connection to one closure.
// SAFETY: the event is freed before the object is released; everything happens on the loop.
@safe package final class Listener {
    /// The address, with the port chosen by the system if none was given.
    package let address: SocketAddress
    private let loop: EventLoop
    private let descriptor: Int32
    private let betterPlace: BetterPlace?
    private let onAccept: (StreamSocket) -> Void
    private var event: OpaquePointer?
    private let burst: Int
    /// Whether another process may continue to use the socket.
    private let isInherited: Bool
    private var pause: ActionTimer?
    private let descriptors: Descriptors
    private let onStall: ((String) -> Void)?

    /// The descriptors available to the connections of a listener.
    package enum Descriptors {
        /// All descriptors: an operator can still connect and find out why none are left.
        case all
        /// All descriptors except the reserved ones (`DescriptorLimit`).
        case unreserved
    }

    /// Returns a function that moves the new connection to another loop; `nil` to keep it.
    package typealias BetterPlace = () -> ((AcceptedSocket) -> Void)?

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - socket: the listening socket; the listener duplicates its descriptor.
    ///   - loop: the loop that accepts.
    ///   - betterPlace: chooses the loop, for sockets that several loops share.
    ///   - descriptors: the descriptors available to the connections.
    ///   - onStall: called on the loop, with the reason, each time accepting has to pause.
    ///   - onAccept: called on the loop with each connection.
    /// - Throws: `IOError.system` if the system has no descriptors left, or cannot watch more of them.
    package init(
        _ socket: borrowing ListeningSocket,
        on loop: EventLoop,
        betterPlace: BetterPlace? = nil,
        descriptors: Descriptors = .unreserved,
        onStall: ((String) -> Void)? = nil,
        onAccept: @escaping (StreamSocket) -> Void
    ) throws(IOError) {
        loop.preconditionCurrent()
        self.loop = loop
        self.betterPlace = betterPlace
        self.onAccept = onAccept
        self.descriptors = descriptors
        self.onStall = onStall
        address = socket.address
        isInherited = socket.isInherited
        descriptor = duplicate(socket.descriptor)
        burst = betterPlace == nil ? 64 : 1
        guard descriptor >= 0 else { throw .system(describe(errno: systemError())) }
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe event = event_new(
            loop.base,
            descriptor,
            Int16(EV_READ | EV_PERSIST),
            listenerReady,
            context
        )
        guard unsafe event_add(event, nil) == 0 else {
            let reason = describe(errno: systemError())
            close()
            throw .system("cannot watch for connections to \(address): \(reason)")
        }
    }

    deinit {
        precondition(unsafe event == nil, "a listener is closed on its loop before it goes away")
    }

    /// Accepts no more connections.
    package func close() {
        guard unsafe event != nil else { return }
        loop.preconditionCurrent()
        unsafe event_free(event)
        unsafe event = nil
        if let pause { loop.remove(pause) }
        _ = Glibc.close(descriptor)
    }

    /// The maximum number of connections accepted before a close, equal to the default backlog.
    private static let lastBurst = 4096

    /// Accepts the waiting connections before a close.
    ///
    /// The kernel would otherwise reset them although their clients consider them open. Connections on a
    /// socket from systemd are left to the next process.
    package func acceptWaiting() {
        guard unsafe event != nil, !isInherited else { return }
        loop.preconditionCurrent()
        accept(atMost: Listener.lastBurst, to: nil)
    }

    func ready() {
        // Accept one at a time if several loops share the socket, so that each gets its share.
        accept(atMost: burst, to: betterPlace)
    }

    private func accept(atMost count: Int, to betterPlace: BetterPlace?) {
        for _ in 0..<count {
            var storage = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            // SAFETY: the storage is large enough for every family, and outlives the call.
            let accepted = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe accept4(
                        descriptor,
                        $0,
                        &length,
                        Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
                    )
                }
            }
            guard accepted >= 0 else {
                let code = systemError()
                switch code {
                case EINTR, ECONNABORTED: continue
                case EAGAIN: return
                // No descriptors, no memory, or a sandbox forbids the call.
                default: return pauseAccepting(for: code)
                }
            }
            guard descriptors == .all || !DescriptorLimit.isReserved(accepted) else {
                _ = Glibc.close(accepted)
                return pauseAccepting(for: EMFILE)
            }
            guard let peer = SocketAddress(storage) else {
                _ = Glibc.close(accepted)
                continue
            }
            if let handOver = betterPlace?() {
                handOver(AcceptedSocket(descriptor: accepted, peer: peer))
            } else {
                do throws(IOError) {
                    onAccept(try StreamSocket(descriptor: accepted, peer: peer, on: loop))
                } catch {
                    return pauseAccepting("\(error)")
                }
            }
        }
    }

    private func pauseAccepting(for code: Int32) {
        let isFull = code == EMFILE
        let reason = describe(errno: code)
        pauseAccepting(isFull ? "\(reason): the process should \(DescriptorLimit.advice)" : reason)
    }

    /// Pauses for 100 ms, since the level-triggered event would spin.
    private func pauseAccepting(_ reason: String) {
        onStall?(reason)
        unsafe event_del(event)
        let pause = ActionTimer { [unowned self] in
            guard unsafe event != nil else { return }
            // Retry later if the socket cannot be watched now.
            if unsafe event_add(event, nil) != 0 { pauseAccepting(for: systemError()) }
        }
        self.pause = pause
        loop.schedule(pause, at: loop.deadline(after: .milliseconds(100)))
    }
}

private func duplicate(_ descriptor: Int32) -> Int32 {
    fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
}
