import NetproxyEventIO
import NetproxyHTTP2
import NetworkCore

/// The watch over content that fills the memory of a connection to an origin.
///
/// Responses of all clients share the connection, and one that nobody reads must not hold up the others for
/// longer than ten seconds. Not `Sendable`: it belongs to a connection.
final class UnreadContent: TimerEntry {
    /// The exchanges whose stream has closed and whose content was not read yet.
    var closed = StreamTable<HTTP2Exchange>()
    private weak var connection: HTTP2Connection?
    private var isWatching = false

    /// The time for which content may fill the memory of its connection without being read.
    private static let patience = Duration.seconds(10)

    /// Starts to watch if the memory of the connection is full.
    func watch(_ connection: HTTP2Connection) {
        guard connection.session.isFull, !isWatching else { return }
        isWatching = true
        self.connection = connection
        connection.loop.schedule(self, at: connection.loop.deadline(after: UnreadContent.patience))
    }

    /// Cancels the response with the most content in memory if nobody has read it for some time.
    override func fire() {
        isWatching = false
        guard let connection, !connection.wire.isClosed, connection.session.isFull else { return }
        let now = connection.loop.now
        let stalled = (connection.exchanges.all + closed.all).filter {
            now &- $0.stream.lastTaken >= UnreadContent.patience.nanoseconds
        }
        if let largest = stalled.max(by: { $0.stream.unread < $1.stream.unread }) {
            largest.cancellation = NetworkError(
                .httpResponseIncomplete,
                side: .proxy,
                detail: "the client has read nothing for 10 s, "
                    + "and the memory for content is used up"
            )
            connection.abandon(largest, .cancel)
        }
        watch(connection)
    }
}
