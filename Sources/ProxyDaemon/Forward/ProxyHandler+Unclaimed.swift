import Bytes
import EventIO
import HTTP1
import HTTPMessage
import NetworkCore
import RequestLog

extension ProxyHandler {
    /// Serves what no channel claims as far as the configuration allows it, and refuses the rest.
    ///
    /// - Parameters:
    ///   - refusal: why no channel was found.
    ///   - app: who sent it.
    ///   - exchange: its record goes to the daemon's own log.
    /// - Returns: whether the connection may be used for another request.
    func serveUnclaimed(
        _ refusal: NetworkError,
        on app: DownstreamConnection,
        _ exchange: inout Exchange
    ) async -> Bool {
        let head = exchange.head
        do throws(NetworkError) {
            switch head.target {
            case .authority(let authority) where app.dedicatedChannel == nil:
                try await connect(to: authority, head, on: app, &exchange)
                return false
            case .absolute(let scheme, let authority, let target)
            where refusal.kind == .noChannel && channels.forward.forwards(scheme):
                let origin = Origin(scheme: scheme, host: authority.host, port: authority.port)
                let response = try await forward(head, to: origin, target, on: app, &exchange)
                return await deliver(response, on: app, &exchange)
            case .asterisk where refusal.kind == .noChannel:
                try AccessPolicy().check(head, isChannelHost: isAdmitted, userID: app.userID)
                return await deliver(MaxForwards.options, on: app, &exchange)
            case .origin where refusal.kind == .noChannel:
                // The refusal names the channels, which is nothing for a web page that has its own
                // name lead here.
                try AccessPolicy().checkHost(head, isChannelHost: isAdmitted)
                guard !AccessPolicy.isWebPage(head.headers) else { throw ProxyHandler.untold }
                throw refusal
            default: throw refusal
            }
        } catch {
            return await explain(error, on: app, &exchange)
        }
    }

    private static var untold: NetworkError {
        NetworkError(
            .httpRequestDenied,
            side: .downstream,
            detail: "no channel matches, and a web page is told no more",
            status: 403
        )
    }

    /// Whether a host is one of a channel's, or listed in the `access.hosts` of any.
    private func isAdmitted(_ host: Authority) -> Bool {
        channels.isChannelHost(host) || channels.channels.contains { $0.access.isListed(host) }
    }

    /// Opens a blind tunnel (RFC 9110 §9.3.6): nothing of the request goes into it.
    private func connect(
        to authority: Authority,
        _ head: RequestHead,
        on app: DownstreamConnection,
        _ exchange: inout Exchange
    ) async throws(NetworkError) {
        try AccessPolicy().check(head, isChannelHost: { _ in false }, userID: app.userID)
        guard head.framing == .none else {
            throw NetworkError(
                .httpRequestError,
                side: .downstream,
                detail: "a CONNECT request has no content",
                status: 400
            )
        }
        let far = try await channels.forward.tunnel(
            to: authority,
            hasChannel: channels.router.isUpstream(authority),
            &exchange.record.context
        )
        await tunnel(
            to: far,
            opening: .connected,
            on: app,
            idleTimeout: ForwardProxy.tunnelIdle,
            &exchange
        )
    }

    /// The fields in which an app shows a key that is for nobody but this proxy.
    private func keyFields(of head: RequestHead) -> [HTTPFieldName] {
        head.headers.filter { field in
            channels.channels.contains { $0.access.isKey(field.value) }
        }
        .map(\.name)
    }

    private func forward(
        _ head: RequestHead,
        to origin: Origin,
        _ target: String,
        on app: DownstreamConnection,
        _ exchange: inout Exchange
    ) async throws(NetworkError) -> Response {
        try AccessPolicy().check(head, isChannelHost: { _ in false }, userID: app.userID)
        if let answer = try MaxForwards.answer(to: head) { return answer }
        if head.version == .http11 { exchange.record.context.onInformational = app.interim }
        var nominated: [HTTPFieldName] = []
        var head = head
        for field in keyFields(of: head) { head.headers.remove(field) }
        let request = try requests.make(
            &head,
            for: origin,
            target: target,
            body: app.requestBody(head.framing),
            requestID: exchange.record.context.requestID,
            protecting: [],
            ruling: [],
            nominated: &nominated
        )
        exchange.noteDestination(of: request)
        do {
            var response = try await channels.forward.send(
                request,
                context: &exchange.record.context
            )
            response.headers.append(.via, validated: requests.via(exchange.record.context))
            return response
        } catch {
            throw ProxyHandler.networkError(error)
        }
    }
}
