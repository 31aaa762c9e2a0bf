import CLibevent

extension EventLoop {
    /// Whether a loop with nothing to do may poll before it sleeps, where that is cheaper.
    ///
    /// For the loop's thread.
    package var mayPoll: Bool {
        get { polling.isAllowed }
        set {
            preconditionCurrent()
            if newValue != polling.isAllowed { polling = BusyPolling(isAllowed: newValue) }
        }
    }

    /// Waits until there is something to do, or until events have been taken that leave nothing to do.
    func waitForEvents() {
        guard polling.isAllowed else { return takeEvents(mayWait: true) }
        if !polling.isOn || !poll() { takeEvents(mayWait: true) }
        if polling.count(work: workCount) {
            polling.measure(at: now, cost: threadProcessorNanoseconds())
        }
    }

    /// Asks for events for a moment; false if there is nothing to do then.
    private func poll() -> Bool {
        forgetTime()
        let start = now
        var spent: UInt64 = 0
        repeat {
            takeEvents(mayWait: false)
            spent = now &- start
        } while !hasWork && spent < BusyPolling.longest
        timePolled &+= spent
        return hasWork
    }

    /// Takes the events that there are; if there are none, sleeps until there are.
    func takeEvents(mayWait: Bool) {
        forgetTime()
        let flags = mayWait ? EVLOOP_ONCE : EVLOOP_ONCE | EVLOOP_NONBLOCK
        _ = unsafe event_base_loop(base, flags)
    }
}
