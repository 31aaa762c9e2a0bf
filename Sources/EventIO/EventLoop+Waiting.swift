import CLibevent

extension EventLoop {
    /// Waits until there are events, and takes them.
    func waitForEvents() {
        if polling.samples() { return measureSleep() }
        if polling.isOn, poll() { return }
        takeEvents(mayWait: true)
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
        polling.polled(for: spent, isInVain: !hasWork)
        return hasWork
    }

    /// Sleeps, unless there are events already, and measures it.
    private func measureSleep() {
        takeEvents(mayWait: false)
        guard !hasWork else { return }
        let (start, cost) = (now, threadProcessorNanoseconds())
        takeEvents(mayWait: true)
        polling.slept(for: now &- start, costing: threadProcessorNanoseconds() &- cost)
    }

    /// Takes the events that there are; if there are none, sleeps until there are.
    func takeEvents(mayWait: Bool) {
        forgetTime()
        let flags = mayWait ? EVLOOP_ONCE : EVLOOP_ONCE | EVLOOP_NONBLOCK
        _ = unsafe event_base_loop(base, flags)
    }
}
