/// Lets other tasks run until a condition holds; returns whether it came to hold.
///
/// Gives up after ten seconds of real time, so that a failing test ends.
package func eventually(_ condition: () async -> Bool) async -> Bool {
    let limit = ContinuousClock.now + .seconds(10)
    while ContinuousClock.now < limit {
        if await condition() { return true }
        await Task.yield()
    }
    return false
}
