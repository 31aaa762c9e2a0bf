import CLibevent
import Glibc
import System

/// Opens connections from a loop.
package enum Dialer {
    /// Connects to one address.
    ///
    /// - Throws: `.timedOut`, `.refused`, `.system`, or `.aborted` when the task is cancelled.
    package static func connect(
        to address: SocketAddress,
        on loop: EventLoop,
        until deadline: UInt64
    ) async throws(IOError) -> StreamSocket {
        let descriptor = socket(
            address.family,
            Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue),
            0
        )
        guard descriptor >= 0 else { throw connectFailure(systemError()) }
        guard !DescriptorLimit.isDeeplyReserved(descriptor) else {
            _ = close(descriptor)
            throw connectFailure(EMFILE)
        }
        if !address.isUnix { StreamSocket.setOptions(ofTCP: descriptor) }
        let code = unsafe address.withSystemAddress { unsafe Glibc.connect(descriptor, $0, $1) }
        let failure = code == 0 ? 0 : systemError()
        guard failure == 0 || failure == EINPROGRESS else {
            _ = close(descriptor)
            throw connectFailure(failure)
        }
        let socket = try StreamSocket(descriptor: descriptor, peer: address, on: loop)
        unsafe socket.mayBeReadable = false
        if failure == 0 { return socket }
        do throws(IOError) {
            socket.setUnwritable()
            let fault = await socket.abortingWhenCancelled {
                await socket.settleWritable(until: deadline)
            }
            if let fault { throw fault }
            var pending: Int32 = 0
            var length = socklen_t(MemoryLayout<Int32>.size)
            // SAFETY: the variable lives for the call, and its size is told.
            guard unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &pending, &length) == 0 else {
                throw connectFailure(systemError())
            }
            guard pending == 0 else { throw connectFailure(pending) }
            return socket
        } catch {
            socket.close()
            throw error
        }
    }

    private static func connectFailure(_ code: Int32) -> IOError {
        switch code {
        case ECONNREFUSED: .refused
        case ETIMEDOUT: .timedOut
        case EACCES, EPERM: .denied(describe(errno: code))
        case EMFILE, ENFILE: .exhausted(describe(errno: code))
        default: .system(describe(errno: code))
        }
    }
}
