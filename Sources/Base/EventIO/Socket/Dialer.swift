import Glibc
import NetproxySystem

/// Opens connections from a loop.
package enum Dialer {
    /// Connects to one address.
    ///
    /// - Throws: `.timedOut`, `.unresponsive`, `.refused`, `.system`, or `.aborted` if the task is canceled.
    package static func connect(
        to address: SocketAddress,
        on loop: EventLoop,
        until deadline: UInt64
    ) async throws(IOError) -> StreamSocket {
        guard let descriptor = SocketDescriptor.open(family: address.family) else {
            throw connectError(systemError())
        }
        guard !DescriptorLimit.isDeeplyReserved(descriptor.number) else {
            descriptor.close()
            throw connectError(EMFILE)
        }
        if !address.isUnix {
            descriptor.setTCPOptions()
            descriptor.probeIdlePeer()
        }
        let code = unsafe address.withSystemAddress {
            unsafe Glibc.connect(descriptor.number, $0, $1)
        }
        let failure = code == 0 ? 0 : systemError()
        guard failure == 0 || failure == EINPROGRESS else {
            descriptor.close()
            throw connectError(failure)
        }
        let socket = try StreamSocket(descriptor: descriptor.number, peer: address, on: loop)
        unsafe socket.readiness.drained()
        if failure == 0 {
            socket.limitSilence()
            return socket
        }
        do throws(IOError) {
            unsafe socket.readiness.filled()
            let fault = await socket.abortingWhenCancelled {
                await IOError.thrown { () async throws(IOError) in
                    try await socket.waitWritable(until: deadline)
                }
            }
            if let fault { throw fault }
            let pending = descriptor.takeError()
            guard pending == 0 else { throw connectError(pending) }
            // Set this after the handshake, which has its own deadline and would also be limited.
            socket.limitSilence()
            return socket
        } catch {
            socket.close()
            throw error
        }
    }

    private static func connectError(_ code: Int32) -> IOError {
        switch code {
        case ECONNREFUSED: .refused
        case ETIMEDOUT: .unresponsive(describe(errno: code))
        case EACCES, EPERM: .denied(describe(errno: code))
        case EMFILE, ENFILE: .exhausted(describe(errno: code))
        default: .system(describe(errno: code))
        }
    }
}
