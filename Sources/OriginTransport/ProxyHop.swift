import Bytes
import EventIO
import HTTP1
import HTTPMessage
import NetworkCore

/// Another proxy on the way to an origin.
package struct ProxyHop: Sendable, Hashable {
    let host: String
    let port: UInt16

    /// A proxy that is spoken to in plain HTTP.
    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Asks the proxy for a tunnel (RFC 9110 §9.3.6), in which TLS with the origin then begins.
    ///
    /// - Throws: `destination_unavailable` when the proxy refuses, and what reading and writing throw.
    func openTunnel(
        over socket: StreamSocket,
        to origin: Origin,
        until deadline: UInt64
    ) async throws(NetworkError) {
        let fault = await socket.abortingWhenCancelled { () -> NetworkError? in
            do throws(NetworkError) {
                try await askForTunnel(over: socket, to: origin, until: deadline)
                return nil
            } catch {
                return error
            }
        }
        if let fault { throw fault }
    }

    private func askForTunnel(
        over socket: StreamSocket,
        to origin: Origin,
        until deadline: UInt64
    ) async throws(NetworkError) {
        let name = "the proxy \(host):\(port)"
        let authority = "\(Authority.bracketed(origin.host)):\(origin.port)"
        let loop = socket.loop
        let output = loop.outputs.take()
        defer { loop.outputs.give(output) }
        HeadEncoder.encodeRequest(
            method: .connect,
            target: authority,
            host: authority,
            headers: HTTPHeaders(),
            framing: .none,
            into: output
        )
        let buffer = ReadBuffer()
        do throws(IOError) {
            try await socket.write(output, until: deadline)
            var decoder = ResponseHeadDecoder(limits: UpstreamConnection.limits)
            while true {
                let decoded: (head: ResponseHead, consumed: Int)?
                do throws(HTTP1Error) {
                    decoded =
                        buffer.isEmpty ? nil : try decoder.decode(buffer.span, answering: .connect)
                } catch {
                    throw IOError.system("\(name) sent a malformed answer: \(error.reason)")
                }
                guard let (head, consumed) = decoded else {
                    guard try await socket.read(into: buffer, until: deadline) > 0 else {
                        throw IOError.closedByPeer
                    }
                    continue
                }
                buffer.consume(consumed)
                if head.status.kind == .informational {
                    decoder = ResponseHeadDecoder(limits: UpstreamConnection.limits)
                    continue
                }
                guard head.status.kind == .successful else {
                    throw IOError.system("\(name) refuses a tunnel with \(head.status)")
                }
                // The origin speaks second.
                guard buffer.isEmpty else {
                    throw IOError.system("\(name) sent something behind the head of its answer")
                }
                return
            }
        } catch {
            throw FaultTable.error(error, in: .connecting, to: name)
        }
    }
}
