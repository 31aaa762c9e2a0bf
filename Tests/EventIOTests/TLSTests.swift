import NetproxyBytes
import NetproxyEventIO
import NetproxySettings
import TestSupport
import Testing

/// Tests of TLS handshakes with a real server, and of accepted certificates.
@Suite struct TLSTests {
    /// Connects, completes the handshake, sends "ping" and returns the received bytes.
    private func echo(
        _ server: TLSServer,
        as serverName: String,
        _ demands: TLSDemands
    ) async throws -> (text: String, lacksPin: Bool) {
        let loop = try TestLoop.shared()
        let context = try TLSContext(demands)
        return try await Task(executorPreference: loop) {
            let deadline = loop.deadline(after: Wire.patience)
            let socket = try await Dialer.connect(to: server.address, on: loop, until: deadline)
            defer { socket.close() }
            try await socket.startTLS(context, serverName: serverName, until: deadline)
            let (output, buffer) = (OutputBuffer(), ReadBuffer())
            output.append("ping")
            try await socket.write(output, until: deadline)
            while buffer.count < 4 {
                guard try await socket.read(into: buffer, until: deadline) > 0 else { break }
            }
            return (String(decoding: buffer.span.array, as: UTF8.self), socket.peerLacksPin)
        }.value
    }

    /// Returns the error of a client that trusts the certificate, or nil.
    private func failure(
        of certificate: SelfSignedCertificate,
        as serverName: String,
        _ demand: (inout TLSDemands) -> Void = { _ in }
    ) async throws -> IOError? {
        var demands = TLSDemands()
        demands.authorities = certificate.file
        demand(&demands)
        let server = try TLSServer(certificate)
        do {
            #expect(try await echo(server, as: serverName, demands).text == "ping")
            return nil
        } catch let error as IOError {
            // The client sends no bytes to a server that has not proven its name.
            #expect(server.received.value == 0)
            return error
        }
    }

    @Test(arguments: [
        ("DNS:api.example.com", "api.example.com"),
        ("DNS:other.example.com,DNS:api.example.com", "api.example.com"),
        ("DNS:API.Example.com", "api.example.com"),
        ("DNS:*.example.com", "api.example.com"),
        ("IP:127.0.0.1", "127.0.0.1"),
        ("IP:::1", "::1"),
    ])
    func `a certificate is accepted for a name in its subjectAltName`(
        names: String,
        serverName: String
    ) async throws {
        let certificate = try SelfSignedCertificate(names: names)
        #expect(try await failure(of: certificate, as: serverName) == nil)
    }

    @Test(arguments: [
        ("DNS:other.example.com", "api.example.com"),
        ("DNS:example.com", "api.example.com"),
        // RFC 9110 §4.3.4: a wildcard is one whole label.
        ("DNS:a*.example.com", "api.example.com"),
        ("DNS:*pi.example.com", "api.example.com"),
        ("DNS:*.example.com", "one.api.example.com"),
        ("DNS:api.*.com", "api.example.com"),
        ("DNS:127.0.0.1", "127.0.0.1"),
        ("IP:127.0.0.2", "127.0.0.1"),
    ])
    func `a certificate for another name is refused`(
        names: String,
        serverName: String
    ) async throws {
        let certificate = try SelfSignedCertificate(names: names)
        let failure = try await failure(of: certificate, as: serverName)
        guard case .tlsCertificate(let reason) = failure else {
            Issue.record("\(names) for \(serverName): \(String(describing: failure))")
            return
        }
        let isAddress = SocketAddress(ip: serverName, port: 0) != nil
        #expect(
            reason
                == (isAddress
                    ? "IP address mismatch"
                    : "hostname mismatch: no subjectAltName matches \(serverName)")
        )
    }

    @Test(arguments: [nil, "DNS:other.example.com"])
    func `a name in only the subject's CN is refused`(names: String?) async throws {
        let certificate = try SelfSignedCertificate(commonName: "api.example.com", names: names)
        guard case .tlsCertificate = try await failure(of: certificate, as: "api.example.com")
        else { return #expect(Bool(false), "the CN counts as a name") }
    }

    @Test func `a certificate without a trusted authority is refused`() async throws {
        let certificate = try SelfSignedCertificate(names: "DNS:api.example.com")
        let trusted = try SelfSignedCertificate(names: "DNS:api.example.com")
        let failure = try await failure(of: certificate, as: "api.example.com") {
            $0.authorities = trusted.file
        }
        guard case .tlsCertificate = failure else {
            return #expect(Bool(false), "trusted: \(String(describing: failure))")
        }
    }

    private static let foreignPin = CertificatePin(
        text: "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
    )

    @Test func `a chain without a pinned key is refused, or only reported`() async throws {
        let certificate = try SelfSignedCertificate(names: "DNS:api.example.com")
        let pin = try #require(TLSTests.foreignPin)
        let failure = try await failure(of: certificate, as: "api.example.com") { $0.pins = [pin] }
        guard case .tlsCertificate = failure else {
            return #expect(Bool(false), "accepted: \(String(describing: failure))")
        }
        var demands = TLSDemands()
        (demands.authorities, demands.pins, demands.pinMode) = (certificate.file, [pin], .report)
        let answer = try await echo(try TLSServer(certificate), as: "api.example.com", demands)
        #expect(answer.text == "ping" && answer.lacksPin)
    }

    @Test(arguments: ["", String(repeating: "x", count: 300)])
    func `an invalid server name is refused before the handshake`(serverName: String) async throws {
        let certificate = try SelfSignedCertificate(names: "DNS:api.example.com")
        let failure = try await failure(of: certificate, as: serverName)
        #expect(
            failure == .tlsCertificate("'\(serverName)' is not a valid TLS server name")
        )
    }

    @Test func `a server without TLS has a different error than an untrusted server`()
        async throws
    {
        let origin = try await OriginServer.start { wire in
            try await wire.send("HTTP/1.1 400 Bad Request\r\n\r\n")
            try await wire.rest()
        }
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: UInt16(origin.port)))
        let (loop, context) = (try TestLoop.shared(), try TLSContext(TLSDemands()))
        let failure = try await Task(executorPreference: loop) { () -> IOError? in
            let socket = try await Dialer.connect(to: address, on: loop, until: .max)
            defer { socket.close() }
            return await IOError.thrown { () async throws(IOError) in
                try await socket.startTLS(
                    context,
                    serverName: "api.example.com",
                    until: loop.deadline(after: Wire.patience)
                )
            }
        }.value
        guard case .tlsProtocol(let reason) = failure else {
            return #expect(Bool(false), "\(String(describing: failure))")
        }
        #expect(reason.hasSuffix("does the server speak TLS?"))
    }
}
