package import NetproxyEventIO
package import NetproxyHTTPMessage
import NetproxyLiveObjects
import NetworkCore

/// Sends an interim (1xx) response to the client.
package typealias InterimWriter = @Sendable (HTTPStatus, HTTPHeaders) async throws -> Void

/// The listener of a connection; a reload may assign it to another channel.
package struct ListenerSource {
    let number: Int?
    /// The channel of the listener, if it serves only one.
    var channel: String?

    package init(number: Int? = nil, channel: String? = nil) {
        (self.number, self.channel) = (number, channel)
    }
}

/// The task that serves a connection.
package final class DownstreamService {
    let task: Task<Void, Never>
    /// Aborts the task's waits outside the connection.
    let relay: AbortRelay
    /// Forwards interim responses to the client.
    var interim: InterimWriter?
    private let life = LiveObject(DownstreamService.self)

    package init(task: Task<Void, Never>, relay: AbortRelay, interim: InterimWriter? = nil) {
        self.task = task
        self.relay = relay
        self.interim = interim
    }
}
