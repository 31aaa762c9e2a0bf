/// Lets other tasks run until a condition is true, and returns whether it became true.
///
/// It checks often at first and then every millisecond, so that a hundred waiting tests leave time for other
/// tasks. After a minute of real time it returns false, so that a failing test ends.
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
