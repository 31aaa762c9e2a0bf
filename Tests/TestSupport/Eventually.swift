/// Lets other tasks run until a condition holds; returns whether it came to hold.
///
/// Looks often at first, then every millisecond, so that a hundred tests that wait at once do not
/// keep the tasks they wait for from running. Gives up after a minute of real time, so that a failing
/// test ends.
package func eventually(_ condition: () async -> Bool) async -> Bool {
    let limit = ContinuousClock.now + .seconds(60)
    var looks = 0
    while ContinuousClock.now < limit {
        if await condition() { return true }
        looks += 1
        if looks < 50 {
            await Task.yield()
        } else {
            do { try await Task.sleep(for: .milliseconds(1)) } catch { return await condition() }
        }
    }
    return false
}
