import EventIO
import HTTP1
import NetworkCore

/// The content of a request on its way out, while the answer may be coming.
///
/// It may have to wait until the origin asks for it (RFC 9110 §10.1.1).
final class Upload {
    let source: any BodySource
    /// Its length, or chunks where that is unknown.
    let framing: BodyFraming
    /// What sends it.
    var task: Task<Void, Never>?
    /// Whether some of it is still to be sent.
    var isRunning = true
    /// Why it took the exchange with it, if it did.
    var fault: (any Error)?
    /// Whether it may be sent.
    private(set) var isOpen: Bool
    private var isClosed = false
    private var answerDeadline: UInt64?
    private var continuation: CheckedContinuation<Void, Never>?

    init(_ source: any BodySource, _ framing: BodyFraming, isOpen: Bool) {
        self.source = source
        self.framing = framing
        self.isOpen = isOpen
    }

    /// Returns once it may be sent, or is not wanted any more: the task is cancelled then.
    func wait() async {
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

    /// The origin asked for it.
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
