import FoundationEssentials
import NetproxyBytes
package import NetproxyConfig
import NetproxyCryptography
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyPath
package import NetproxySettings
package import NetworkCore

extension HMACSettings: CredentialProviding {
    package func credential(
        for channel: ChannelConfiguration,
        in context: CredentialContext
    ) async throws -> RunningCredential {
        let place = channel.credentialPlace ?? .header(.authorization)
        let rules = RequestSignature.Rules(self, place, channel)
        return try await context.fixed(key) { key throws(NetworkError) in
            StaticAuthorizer(
                kind: context.kind,
                signing: try RequestSignature(rules, key: key),
                named: place.fieldName,
                key: key
            )
        }
    }

    /// Returns `nil`, because a signature depends on the channel; only its key could be shared.
    package func adapted(
        _: RunningCredential,
        to _: ChannelConfiguration
    ) -> RunningCredential? { nil }
}

/// Signs each request of a channel with an HMAC (RFC 2104), as the configuration describes.
struct RequestSignature: RequestSigning {
    /// The signed parts of a request, and the place of the signature.
    struct Rules: Sendable {
        let settings: HMACSettings
        let place: CredentialPlace
        /// The value of `Host`; `nil` for the authority of the request's origin.
        var authority: String?
        /// The largest content to read for signing, in bytes.
        var contentLimit: Int
        /// The API's time of day, learned from its rejections.
        let clock: ServerClock

        init(
            _ settings: HMACSettings,
            _ place: CredentialPlace,
            authority: String? = nil,
            contentLimit: Int,
            clock: any NetworkClock = SystemClock()
        ) {
            self.settings = settings
            self.place = place
            self.authority = authority
            self.contentLimit = contentLimit
            self.clock = ServerClock(clock: clock)
        }

        /// Creates the rules of a channel.
        init(_ settings: HMACSettings, _ place: CredentialPlace, _ channel: ChannelConfiguration) {
            self.init(
                settings,
                place,
                contentLimit: Int(channel.retry.replayBody.bytes)
            )
            if case .name(let name) = channel.host { authority = name }
        }
    }

    private let rules: Rules
    private let key: [UInt8]

    /// Creates a signer with a key.
    ///
    /// - Throws: `credential_unavailable` if the key is not in the configured encoding.
    init(_ rules: Rules, key: Secret) throws(NetworkError) {
        self.rules = rules
        do {
            self.key = try rules.settings.keyEncoding.bytes(of: key)
        } catch {
            throw NetworkError(
                .credentialUnavailable,
                side: .proxy,
                retry: .safe,
                detail: error.description
            )
        }
    }

    /// Adds the fields and the signature.
    ///
    /// - Throws: `http_request_error` if the content is too long to sign, or an error from reading it.
    func sign(_ request: inout Request) async throws {
        if let parameter = rules.place.parameter, request.target != "*" {
            request.target = parameter.removed(from: request.target)
        }
        let settings = rules.settings
        var facts = Facts(request, rules)
        if settings.uses(.body) || settings.uses(.bodyDigest) {
            facts.content = try await content(of: &request)
        }
        for field in settings.fields {
            guard let name = HTTPFieldName(field.name) else { continue }
            request.headers.removeAll(like: name)
            let value = String(decoding: facts.bytes(of: field.value), as: UTF8.self)
            guard let line = HTTPField(name, value) else {
                throw NetworkError.unsendable("\(name) has no room for what the request brings")
            }
            request.headers.append(line)
        }
        let message = facts.bytes(of: settings.message)
        let code = settings.algorithm.authenticationCode(of: message, key: key)
        let text = Secret(settings.encoding.text(of: code))
        guard let credential = Credential(rules.place.fieldName ?? .authorization, text) else {
            preconditionFailure("unreachable: a signature has letters and digits")
        }
        try rules.place.put(credential, in: &request)
    }

    /// Learns the API's time of day from a rejection, which a wrong time may have caused.
    func learn(from response: borrowing Response) {
        guard [401, 403].contains(response.status.rawValue) else { return }
        rules.clock.learn(from: response.headers)
    }

    private func content(of request: inout Request) async throws -> [UInt8] {
        do {
            let content = try await request.body.collect(upTo: rules.contentLimit)
            if request.body.isStream { request.body = content.isEmpty ? .empty : .bytes(content) }
            return content.array
        } catch let error as NetworkError where error.kind == .httpResponseBodySize {
            throw NetworkError(
                .httpRequestError,
                side: .downstream,
                retry: .safe,
                detail: "the content is longer than the \(rules.contentLimit) bytes of "
                    + "retry.replay_body that are read to be signed: raise retry.replay_body",
                status: 413
            )
        }
    }
}

extension RequestSignature {
    /// The values of a request for the words in a signed text.
    private struct Facts {
        private let method: String
        private let target: String
        private let host: String
        private let date: HMACSettings.DateForm
        private let now: UnixTime
        private let nonce: String
        var content: [UInt8] = []

        init(_ request: borrowing Request, _ rules: Rules) {
            method = request.method.rawValue
            target = request.target
            host = rules.authority ?? request.origin.authority
            date = rules.settings.date
            now = rules.clock.now
            nonce = rules.settings.uses(.nonce) ? Self.randomDigits() : ""
        }

        func bytes(of text: SignedText) -> [UInt8] {
            text.parts.flatMap { part -> [UInt8] in
                switch part {
                case .text(let text): Array(text.utf8)
                case .word(.body): content
                case .word(let word): Array(self.text(of: word).utf8)
                case .expiry(let wait): Array(date.text(of: now + wait).utf8)
                }
            }
        }

        private func text(of word: SignedText.Word) -> String {
            switch word {
            case .method: method
            case .path: String(target.prefix { $0 != "?" })
            case .query: String(target.drop { $0 != "?" }.dropFirst())
            case .target: target
            case .host: host
            case .timestamp: date.text(of: now)
            case .nonce: nonce
            case .bodyDigest: HMACSettings.Encoding.hex.text(of: SHA256.digest(of: content))
            case .body: ""
            }
        }

        private static func randomDigits() -> String {
            var generator = SystemRandomNumberGenerator()
            return HMACSettings.Encoding.hex.text(
                of: (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            )
        }
    }
}

extension HMACSettings.Encoding {
    /// Returns the bytes as text.
    fileprivate func text(of bytes: [UInt8]) -> String {
        switch self {
        case .base64: return Data(bytes).base64EncodedString()
        case .hex:
            let digits = Array("0123456789abcdef".utf8)
            let text = bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
            return String(decoding: text, as: UTF8.self)
        }
    }
}

extension HMACSettings.DateForm {
    /// Returns the time of day as text.
    fileprivate func text(of time: UnixTime) -> String {
        let milliseconds = UInt64(max(0, time.secondsSinceEpoch * 1000))
        let seconds = milliseconds / 1000
        switch self {
        case .unix: return String(seconds)
        case .unixMilliseconds: return String(milliseconds)
        case .rfc1123: return HTTPDate.text(seconds)
        case .iso8601:
            let date = Date(timeIntervalSince1970: TimeInterval(seconds))
            return date.formatted(.iso8601)
        }
    }
}

extension SharedKeyEncoding {
    /// Returns the bytes of a key.
    ///
    /// - Throws: an error that does not quote the key.
    package func bytes(of key: Secret) throws(SecretError) -> [UInt8] {
        let text = Array(key.reveal().utf8)
        switch self {
        case .text: return text
        case .base64:
            guard let data = Data(base64Encoded: key.reveal()), !data.isEmpty else {
                throw SecretError("the key is not base64; see key_encoding")
            }
            return Array(data)
        case .hex:
            let digits = text.compactMap(Grammar.hexValue)
            guard digits.count == text.count, digits.count.isMultiple(of: 2), !digits.isEmpty else {
                throw SecretError("the key is not hexadecimal; see key_encoding")
            }
            return stride(from: 0, to: digits.count, by: 2).map {
                digits[$0] << 4 | digits[$0 + 1]
            }
        }
    }
}
