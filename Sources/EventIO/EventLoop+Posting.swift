extension EventLoop {
    /// Sends what the socket has posted when this turn ends, or at once if nothing else is ready: an
    /// app should not wait for its log line.
    func flushLater(_ socket: StreamSocket) {
        unsafe posting.append(.passRetained(socket))
        let isLast = unsafe jobsLeft == 0 && jobs.isEmpty
        if unsafe isLast || posting.count >= EventLoop.postingLimit, unsafe !isFlushing { flush() }
    }

    /// More would be another slab of buffers, and a longer wait for the first.
    private static let postingLimit = 32

    /// Sends what sockets have posted.
    func flush() {
        unsafe isFlushing = true
        var next = 0
        while unsafe next < posting.count {
            // SAFETY: retained by `flushLater`, and released behind the call.
            let socket = unsafe posting[next]
            next += 1
            unsafe socket._withUnsafeGuaranteedRef { $0.flush() }
            unsafe socket.release()
        }
        unsafe posting.removeAll(keepingCapacity: true)
        unsafe isFlushing = false
    }
}
