import Bytes
import EventIO
import HTTP1
import HTTPMessage
import NetworkCore

/// What takes an interim answer to the app.
typealias InterimWriter = @Sendable (HTTPStatus, HTTPHeaders) async throws -> Void

extension ProxyHandler {
    /// Forwards interim answers to an app (RFC 9110 §15.2), made once for its connection.
    func interimWriter(for app: DownstreamConnection) -> InterimWriter {
        let bound = LoopBound(app, on: loop)
        let pseudonym = requests.pseudonym
        return { status, headers in
            var headers = headers
            headers.append(.via, validated: "1.1 \(pseudonym)")
            try await bound.value.writeInterim(status, headers)
        }
    }
}

extension DownstreamConnection {
    /// Writes an interim answer in front of the final one.
    ///
    /// The upload's `100 Continue` and the origin's own interim answers come from different tasks:
    /// each waits for the other.
    ///
    /// - Throws: `NetworkError` on the app's side, `CancellationError`.
    func writeInterim(_ status: HTTPStatus, _ headers: HTTPHeaders = [:]) async throws {
        while isWritingInterim { try await loop.sleep(for: .milliseconds(20)) }
        isWritingInterim = true
        defer { isWritingInterim = false }
        let output = loop.outputs.take()
        defer { loop.outputs.give(output) }
        HeadEncoder.encodeInformational(status: status, headers: headers, into: output)
        try await send(output, nil)
    }
}
