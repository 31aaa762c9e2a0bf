import NetproxyHTTP1
import NetproxyHTTPMessage
import NetworkCore

/// The interim (1xx) responses of one exchange, counted and passed on.
struct InterimResponses {
    private let peer: UpstreamPeer
    private var count = 0

    init(from peer: UpstreamPeer) {
        self.peer = peer
    }

    /// Starts the upload after a 100, and passes every other interim response on.
    ///
    /// - Throws: `http_protocol_error` for too many interim responses, or for a switch that was not
    ///   requested.
    // Never inlined: its variables would otherwise enlarge the frame that is kept while a request waits.
    @inline(never)
    mutating func pass(
        _ head: ResponseHead,
        _ upload: Upload?,
        _ context: inout RequestContext
    ) async throws {
        count += 1
        guard count <= HTTP1Limits.responses.informationalCount, head.status != 101 else {
            throw NetworkError(
                .httpProtocolError,
                side: .upstream,
                detail: "\(peer.origin.authority) sent too many or unexpected 1xx responses"
            )
        }
        if head.status == 100 {
            upload?.proceed()
        } else if let forward = context.onInformational {
            var headers = head.headers
            _ = HopByHop(removingFrom: &headers)
            context.scrub(&headers)
            try await TimeLimit.run(
                until: context.deadline,
                on: SystemClock(),
                setBy: context.deadlineSetting
            ) { [headers] in
                try await forward(head.status, headers)
            }
        }
    }
}
