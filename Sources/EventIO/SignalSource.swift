import CLibevent
import Glibc

/// Signals as calls on a loop. One source exists per process.
// SAFETY: the events are freed before the object goes away; everything happens on the loop.
@safe package final class SignalSource {
    /// The signals a daemon listens to.
    package enum Signal: Int32, CaseIterable, Sendable {
        case terminate = 15
        case interrupt = 2
        case hangUp = 1
        case user1 = 10
    }

    private let loop: EventLoop
    private let handler: (Signal) -> Void
    private var events: [OpaquePointer] = unsafe []

    /// Takes over the signals, and ignores SIGPIPE for the whole process.
    package init(on loop: EventLoop, _ handler: @escaping (Signal) -> Void) {
        loop.preconditionCurrent()
        self.loop = loop
        self.handler = handler
        SignalSource.ignoreBrokenPipes()
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        SignalSource.ignoreNotices()
        for signal in Signal.allCases {
            let what = Int16(EV_SIGNAL | EV_PERSIST)
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

    /// Listens no more; the signals are ignored until the process exits.
    ///
    /// One that comes as the last work ends must not turn a clean exit into death by a signal.
    package func close() {
        while let event = unsafe events.popLast() { unsafe event_free(event) }
        for signal in Signal.allCases { Glibc.signal(signal.rawValue, SIG_IGN) }
    }

    /// Ignores the signals that do not end a daemon, until it listens to them.
    ///
    /// What ends the process does so from the start; what does not must not end it either.
    package static func ignoreNotices() {
        for signal in [Signal.hangUp, .user1] { Glibc.signal(signal.rawValue, SIG_IGN) }
    }

    /// A write to a closed connection is an error of that write, not the end of the process.
    package static func ignoreBrokenPipes() {
        Glibc.signal(SIGPIPE, SIG_IGN)
    }

    func arrived(_ number: Int32) {
        if let signal = Signal(rawValue: number) { handler(signal) }
    }
}

/// The version of libevent that runs.
package var libeventVersion: String {
    unsafe event_get_version().map { unsafe String(cString: $0) } ?? "unknown"
}
