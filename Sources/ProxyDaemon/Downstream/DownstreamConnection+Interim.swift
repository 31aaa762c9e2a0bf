import Bytes
import EventIO
import HTTP1
import HTTPMessage
import NetworkCore

/// What takes an interim answer to the app.
typealias InterimWriter = @Sendable (HTTPStatus, HTTPHeaders) async throws -> Void

extension ProxyHandler {
    /// Forwards interim answers to an app (RFC 9110 §15.2), made once for its task.
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
    /// Returns once no interim answer is being written: what follows may be.
    func settleInterim() async {
        // Whoever goes on first may write the next one.
        while isWritingInterim { await withCheckedContinuation { interimEnds.append($0) } }
    }

    /// Writes an interim answer in front of the final one.
    ///
    /// The upload's `100 Continue` and the origin's own interim answers come from different tasks:
    /// each waits for the other.
    ///
    /// - Throws: `NetworkError` on the app's side, `CancellationError`.
    func writeInterim(_ status: HTTPStatus, _ headers: HTTPHeaders = [:]) async throws {
        await settleInterim()
        try Task.checkCancellation()
        // The final answer may have come first.
        guard phase == .receiving else { return }
        isWritingInterim = true
        defer {
            isWritingInterim = false
            let ends = interimEnds
            interimEnds = []
            for end in ends { end.resume() }
        }
        let output = loop.outputs.take()
        defer { loop.outputs.give(output) }
        HeadEncoder.encodeInformational(status: status, headers: headers, into: output)
        try await send(output, nil)
    }
}
