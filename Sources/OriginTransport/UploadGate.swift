import EventIO

/// Holds a request body back until the origin asks for it (RFC 9110 §10.1.1).
final class UploadGate {
    private var isOpen: Bool
    private var isClosed = false
    private var continuation: CheckedContinuation<Void, Never>?

    init(isOpen: Bool) {
        self.isOpen = isOpen
    }

    /// Returns once the body may be sent, or is not wanted any more: the task is cancelled then.
    func wait(on loop: EventLoop) async {
        guard !isOpen, !isClosed else { return }
        await withCheckedContinuation { continuation = $0 }
    }

    /// The origin asked for the body.
    func open() {
        isOpen = true
        resume()
    }

    /// The answer is there.
    func close() {
        isClosed = true
        resume()
    }

    private func resume() {
        continuation?.resume()
        continuation = nil
    }
}
