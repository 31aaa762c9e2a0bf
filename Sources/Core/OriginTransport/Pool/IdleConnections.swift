/// The connections of a pool that wait for work, the one that was used last on top.
///
/// Each knows the one below it: to take one and to give it back is a few stores.
final class IdleConnections {
    private(set) var count = 0
    private var top: UpstreamConnection?

    /// Puts a connection on top.
    func add(_ connection: UpstreamConnection) {
        connection.below = top
        top = connection
        count += 1
    }

    /// Takes the connection on top away.
    func take() -> UpstreamConnection? {
        guard let connection = top else { return nil }
        top = connection.below
        connection.below = nil
        count -= 1
        return connection
    }

    /// Those that meet a condition, from the top.
    func all(where condition: (UpstreamConnection) -> Bool) -> [UpstreamConnection] {
        var found: [UpstreamConnection] = []
        var next = top
        while let connection = next {
            if condition(connection) { found.append(connection) }
            next = connection.below
        }
        return found
    }

    /// Takes a connection out, if it is here.
    func remove(_ connection: UpstreamConnection) {
        if top === connection {
            _ = take()
            return
        }
        var above = top
        while let candidate = above, candidate.below !== connection { above = candidate.below }
        guard let above else { return }
        above.below = connection.below
        connection.below = nil
        count -= 1
    }
}
