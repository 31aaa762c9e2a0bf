import CLibevent

extension EventLoop {
    /// Whether a loop with nothing to do may poll before it sleeps, where it measures that this is
    /// better.
    ///
    /// For the loop's thread.
    package var mayPoll: Bool {
        get { polling != nil }
        set {
            preconditionCurrent()
            if newValue != mayPoll { polling = newValue ? BusyPolling() : nil }
        }
    }

    /// Whether the loop has something to do before it waits again.
    var hasWork: Bool { workCount > 0 || isStopping }

    /// Waits until there is something to do, or until events have been taken that leave nothing to do.
    func waitForEvents() {
        if polling?.isOn != true || !poll() { sleepUntilEvents() }
        if polling?.count(work: workCount) == true {
            polling?.measure(at: now, cost: threadProcessorNanoseconds())
        }
    }

    /// Asks for events for a moment; false if there is nothing to do then.
    private func poll() -> Bool {
        forgetTime()
        let start = now
        var spent: UInt64 = 0
        repeat {
            takeEvents()
            spent = now &- start
        } while !hasWork && spent < BusyPolling.longest
        timePolled &+= spent
        return hasWork
    }

    /// Takes the events that there are.
    func takeEvents() {
        forgetTime()
        _ = unsafe event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK)
    }

    /// Takes the events that there are; if there are none, sleeps until there are.
    private func sleepUntilEvents() {
        forgetTime()
        _ = unsafe event_base_loop(base, EVLOOP_ONCE)
    }
}
