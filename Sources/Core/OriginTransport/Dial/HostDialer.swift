package import NetproxyEventIO
import NetproxyHTTPMessage
package import NetworkCore

/// Connects to a host by name.
///
/// Resolves the name, drops forbidden addresses, and uses the first address that accepts.
package enum HostDialer {
    /// Opens a connection.
    ///
    /// - Parameters:
    ///   - host: a name or an IP address.
    ///   - port: the TCP port.
    ///   - title: the name in errors, if different.
    ///   - policy: the permitted addresses.
    ///   - source: the source of the host name.
    ///   - setting: the setting of the deadline, for the error of a timeout.
    ///   - loop: the loop of the connection; must be the current loop.
    ///   - deadline: the deadline of all steps together, on the loop's clock.
    ///   - timings: receives the times of resolving and connecting.
    /// - Returns: the connection, which the caller closes.
    /// - Throws: the error from `FaultTable`, `cancelled` if the task is canceled, or `http_request_denied`
    ///   if the policy permits none of the addresses.
    package static func connect(
        to host: String,
        port: UInt16,
        as title: String? = nil,
        admitting policy: DestinationPolicy,
        from source: Resolver.Source,
        within setting: TimeSetting?,
        on loop: EventLoop,
        until deadline: UInt64,
        timings: inout Timings
    ) async throws(NetworkError) -> StreamSocket {
        let started = loop.now
        let name = title ?? "\(Authority.bracketed(host)):\(port)"
        let addresses: [SocketAddress]
        do throws(IOError) {
            addresses = try await Resolver.shared.addresses(
                of: host,
                port: port,
                for: source,
                on: loop,
                until: deadline
            )
        } catch {
            throw FaultTable.error(error, in: .resolving, to: name, after: setting)
        }
        let resolved = loop.now
        if resolved > started { timings.dns = Duration(elapsed: resolved - started) }
        let admitted = policy == .any ? addresses : addresses.filter(policy.admits)
        guard !admitted.isEmpty else {
            throw NetworkError(
                .httpRequestDenied,
                side: .proxy,
                detail: "\(name) leads to a local or private address, which is not allowed here",
                status: 403
            )
        }
        do throws(IOError) {
            let socket = try await AddressRace.connect(to: admitted, on: loop, until: deadline)
            timings.connect = Duration(elapsed: loop.now - resolved)
            if addresses.count > 1 { Resolver.shared.prefer(socket.peer, of: host) }
            return socket
        } catch {
            if error != .aborted { Resolver.shared.forget(host) }
            throw FaultTable.error(error, in: .connecting, to: name, after: setting)
        }
    }
}
