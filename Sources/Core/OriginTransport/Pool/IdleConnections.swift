/// The idle connections of a pool, with the most recently used one on top.
///
/// Each connection refers to the one below it, so taking or returning one costs a few stores.
final class IdleConnections {
    private(set) var count = 0
    private var top: UpstreamConnection?

    /// Puts a connection on top.
    func add(_ connection: UpstreamConnection) {
        connection.below = top
        top = connection
        count += 1
    }

    /// Removes and returns the connection on top.
    func take() -> UpstreamConnection? {
        guard let connection = top else { return nil }
        top = connection.below
        connection.below = nil
        count -= 1
        return connection
    }

    /// Returns the connections that meet a condition, from the top.
    func all(where condition: (UpstreamConnection) -> Bool) -> [UpstreamConnection] {
        var found: [UpstreamConnection] = []
        var next = top
        while let connection = next {
            if condition(connection) { found.append(connection) }
            next = connection.below
        }
        return found
    }

    /// Removes a connection if it is present.
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
