import EventIO

/// Holds a request body back until the origin asks for it (RFC 9110 §10.1.1).
final class UploadGate {
    /// Whether the body may be sent.
    private(set) var isOpen: Bool
    private var isClosed = false
    private var answerDeadline: UInt64?
    private var continuation: CheckedContinuation<Void, Never>?

    init(isOpen: Bool) {
        self.isOpen = isOpen
    }

    /// Returns once the body may be sent, or is not wanted any more: the task is cancelled then.
    func wait(on loop: EventLoop) async {
        guard !isOpen, !isClosed else { return }
        await withCheckedContinuation { continuation = $0 }
    }

    /// When the answer is due: `deadline` at the first call, which follows the end of the upload, and
    /// the same from then on, however slowly the answer comes.
    func answerDeadline(_ deadline: UInt64) -> UInt64 {
        let first = answerDeadline ?? deadline
        answerDeadline = first
        return first
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

    // Never inlined: how large a continuation is, is known at run time only, and each wait for a head
    // would make room for one.
    @inline(never)
    private func resume() {
        continuation?.resume()
        continuation = nil
    }
}
