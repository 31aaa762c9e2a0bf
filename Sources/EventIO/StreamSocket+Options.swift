import CLibevent
import Glibc

extension StreamSocket {
    /// How much the kernel takes at most of what cannot be sent yet, in bytes, on either connection.
    ///
    /// 256 KiB. Without it the kernel takes megabytes for a reader that stops, and tells a slow one's
    /// writer of room so seldom that its idle timeout passes in between.
    private static let unsentLimit: Int32 = 256 * 1024

    /// Sets what holds for every TCP connection; those that a listener accepts inherit it.
    static func setOptions(ofTCP descriptor: Int32) {
        var one: Int32 = 1
        var unsent = unsentLimit
        let size = socklen_t(MemoryLayout<Int32>.size)
        // SAFETY: the options live for the calls.
        unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, size)
        unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, &unsent, size)
    }

    /// The address at this end, as the kernel knows it.
    package var localAddress: SocketAddress? { ListeningSocket.boundAddress(of: descriptor) }

    /// The user at the other end of a unix socket, as the kernel knows it.
    package var peerUserID: UInt32? {
        guard peer.isUnix else { return nil }
        var credentials = netproxy_ucred()
        var length = socklen_t(MemoryLayout<netproxy_ucred>.size)
        // SAFETY: the structure lives for the call, and its size is told.
        let code = unsafe getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length)
        return code == 0 ? credentials.uid : nil
    }
}
