import CNetproxyLibevent
package import NetproxySystem

/// Delivers signals as calls on a loop; a process has one source.
// SAFETY: the events are freed before the object goes away; everything happens on the loop.
@safe package final class SignalSource {
    /// The loop, retained because the events use its base.
    private let loop: EventLoop
    private let handler: (ProcessSignal) -> Void
    private var events: [OpaquePointer] = unsafe []

    /// Takes over the signals, and ignores SIGPIPE in the whole process.
    package init(on loop: EventLoop, _ handler: @escaping (ProcessSignal) -> Void) {
        loop.preconditionCurrent()
        self.loop = loop
        self.handler = handler
        ProcessSignal.ignoreBrokenPipes()
        ProcessSignal.ignoreNotices()
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        let what = Int16(EV_SIGNAL | EV_PERSIST)
        for signal in ProcessSignal.allCases {
            guard
                let event = unsafe event_new(
                    loop.base,
                    signal.rawValue,
                    what,
                    signalArrived,
                    context
                )
            else { continue }
            unsafe event_add(event, nil)
            unsafe events.append(event)
        }
    }

    /// Stops listening; the signals are ignored until the process exits.
    ///
    /// A signal that arrives at the end of the last work must not turn a clean exit into a death by signal.
    package func close() {
        while let event = unsafe events.popLast() { unsafe event_free(event) }
        for signal in ProcessSignal.allCases { signal.ignore() }
    }

    func arrived(_ number: Int32) {
        if let signal = ProcessSignal(rawValue: number) { handler(signal) }
    }
}
