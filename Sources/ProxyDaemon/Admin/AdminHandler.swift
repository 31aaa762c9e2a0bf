import Bytes
import FoundationEssentials
import HTTPMessage
import NetworkCore

/// Answers on the admin socket (contract section 6); never reachable through a data listener.
struct AdminHandler: Sendable {
    /// Whether the socket is a TCP port, which a web page could try to reach.
    let isTCP: Bool
    let daemon: Daemon

    func answer(_ call: LocalServer.Call) async -> Response {
        if isTCP, let refusal = refusal(of: call) { return refusal }
        let parts = call.path.split(separator: "/").map(String.init)
        switch (call.method, parts) {
        case (.get, ["healthz"]): return .text(200, "ok\n")
        case (.get, ["readyz"]): return await readiness()
        case (.get, ["metrics"]):
            var response = Response.text(200, PrometheusText.of(await daemon.status()))
            response.headers.set(
                HTTPField(validated: .contentType, "text/plain; version=0.0.4; charset=utf-8")
            )
            return response
        case (.get, ["status"]): return await status()
        case (.post, ["reload"]): return await reload(planOnly: call.query == "plan")
        case (.post, let parts)
        where parts.count == 4 && Array(parts.suffix(2)) == ["token", "refresh"]:
            return await refresh(parts[1])
        case (.post, let parts)
        where parts.count == 4 && Array(parts.suffix(2)) == ["token", "adopt"]:
            return await adopt(parts[1])
        case (.delete, let parts) where parts.count == 3 && parts[2] == "token":
            return await forget(parts[1])
        default: return problem(404, "there is no \(call.method) \(call.path) here")
        }
    }

    /// What a rebound name or a web page must not reach.
    private func refusal(of call: LocalServer.Call) -> Response? {
        guard let host = call.host,
            host.isIPLiteral || host.host == "localhost" || host.host.hasSuffix(".localhost")
        else { return problem(421, "the admin socket answers to loopback names only") }
        if call.headers.contains(HTTPFieldName.origin) {
            return problem(403, "requests of web pages are refused")
        }
        if let site = call.headers[.secFetchSite], site != "none", site != "same-origin" {
            return problem(403, "requests of web pages are refused")
        }
        if call.method != .get, call.headers["Netproxy-Admin"] != "1" {
            return problem(403, "the field Netproxy-Admin: 1 is needed")
        }
        return nil
    }

    private func readiness() async -> Response {
        let reasons = await daemon.reasonsNotReady
        return reasons.isEmpty
            ? .text(200, "ready\n") : .text(503, reasons.joined(separator: "\n") + "\n")
    }

    private func status() async -> Response {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(await daemon.status()) else {
            return problem(500, "the status cannot be encoded")
        }
        return .json(200, String(decoding: data, as: UTF8.self))
    }

    private func reload(planOnly: Bool) async -> Response {
        let lines = planOnly ? await daemon.plan() : await daemon.reload()
        switch lines {
        case .success(let lines): return .text(200, lines.map { $0 + "\n" }.joined())
        case .failure(let errors): return .text(422, errors.lines.map { $0 + "\n" }.joined())
        }
    }

    private func refresh(_ name: String) async -> Response {
        do {
            guard let manager = await daemon.tokens(of: name) else {
                return problem(404, "there is no channel \(name) with auth.oauth")
            }
            try await manager.forceRefresh()
            return .text(200, "the token of \(name) was renewed\n")
        } catch let error as NetworkError {
            return problem(503, error.detail)
        } catch {
            return problem(503, "\(error)")
        }
    }

    /// Somebody has signed in with the command line.
    private func adopt(_ name: String) async -> Response {
        do {
            guard let manager = await daemon.tokens(of: name) else {
                return problem(404, "there is no channel \(name) with auth.oauth")
            }
            try await manager.lookIntoStore()
            return .text(200, "the stored tokens of \(name) are in force\n")
        } catch {
            return problem(503, "\(error)")
        }
    }

    private func forget(_ name: String) async -> Response {
        do {
            guard let manager = await daemon.tokens(of: name) else {
                return problem(404, "there is no channel \(name) with auth.oauth")
            }
            try await manager.forget()
            return .text(200, "the tokens of \(name) are forgotten\n")
        } catch {
            return problem(500, "\(error)")
        }
    }

    private func problem(_ status: HTTPStatus, _ detail: String) -> Response {
        let output = OutputBuffer(capacity: 256)
        output.append("{\"status\":")
        output.append(decimal: status.rawValue)
        output.append(",\"detail\":")
        JSONText.append(detail, to: output)
        output.append("}\n")
        return Response(
            status: status,
            headers: [.contentType: "application/problem+json"],
            body: .bytes(ByteSlice(output.span.array))
        )
    }
}
