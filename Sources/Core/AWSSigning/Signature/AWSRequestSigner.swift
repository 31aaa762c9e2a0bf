import NetproxyCryptography
import NetproxyHTTPMessage
package import NetworkCore

/// Signs the requests of a channel with Signature Version 4, and replaces the signature of the client.
package struct AWSRequestSigner: RequestSigning {
    /// The rules for signing the requests of a channel, independent of the credentials.
    package struct Options: Sendable {
        /// The region and the service.
        package var scope: SigningScope
        /// The value of `Host`; `nil`: the authority of the request's origin.
        package var authority: String?
        /// The maximum number of bytes of content collected for the digest.
        package var contentLimit: Int
        /// The key that sets `contentLimit`, for the error.
        package var limitKey = "retry.replay_body"

        /// Signs for one region and service.
        package init(scope: SigningScope, authority: String? = nil, contentLimit: Int) {
            self.scope = scope
            self.authority = authority
            self.contentLimit = contentLimit
        }
    }

    private let signature: SignatureV4
    private let options: Options
    private let clock: ServerClock

    /// Makes a signer.
    ///
    /// - Parameters:
    ///   - credentials: the credentials to sign with.
    ///   - options: the rules for signing.
    ///   - clock: the known time of day of the service.
    package init(_ credentials: AWSCredentials, _ options: Options, clock: ServerClock) {
        signature = SignatureV4(credentials, for: options.scope)
        self.options = options
        self.clock = clock
    }

    /// Replaces the client's signature.
    ///
    /// - Throws: `http_request_error` with the remedy, for content that cannot be signed; the errors of
    ///   reading the content.
    package func sign(_ request: inout Request) async throws {
        let values = request.headers.values(of: Self.contentDigest)
        let rule = PayloadRule(values, for: options.scope, over: request.origin.scheme)
        let payload = try await payload(of: &request, by: rule)
        let target = StrictTarget(request.target, for: options.scope)
        request.target = target.text
        removeSignature(from: &request.headers)
        let stamp = AWSTime.stamp(clock.now)
        request.headers.append(Self.date, validated: stamp)
        if let token = signature.credentials.sessionToken {
            request.headers.append(Self.sessionToken, validated: token.reveal())
        }
        if options.scope.isS3 || !values.isEmpty {
            request.headers.append(Self.contentDigest, validated: payload)
        }
        let authority = options.authority ?? request.origin.authority
        signature.sign(&request, target, to: authority, payload: payload, at: stamp)
    }

    private static let date: HTTPFieldName = "X-Amz-Date"
    private static let sessionToken: HTTPFieldName = "X-Amz-Security-Token"
    private static let contentDigest: HTTPFieldName = "X-Amz-Content-Sha256"
    /// The fields of a signature, in each version.
    private static let signatureFields: [HTTPFieldName] = [
        .authorization, date, sessionToken, contentDigest, "X-Amz-Region-Set",
    ]

    private func removeSignature(from headers: inout HTTPHeaders) {
        // A signed `Date` is as old as the signature.
        if headers[.authorization]?.hasPrefix("AWS") == true { headers.remove(HTTPFieldName.date) }
        for name in Self.signatureFields { headers.removeAll(like: name) }
    }

    /// Returns the signed part of the content; hashed content stays with the request as bytes.
    private func payload(of request: inout Request, by rule: PayloadRule) async throws -> String {
        switch rule {
        case .stated(let word): return word
        case .unsigned: return PayloadRule.unsignedWord
        case .chunkSigned(let scheme):
            throw NetworkError.unsendable(
                "the app signs each chunk of the content with its own key (\(scheme)), which cannot be "
                    + "replaced: switch chunk signing off, with chunkedEncodingEnabled(false) in the AWS "
                    + "SDK for Java, and elsewhere with AWS_REQUEST_CHECKSUM_CALCULATION=when_required"
            )
        case .hashed: break
        }
        do {
            let content = try await request.body.collect(upTo: options.contentLimit)
            if request.body.isStream { request.body = content.isEmpty ? .empty : .bytes(content) }
            return SignatureV4.hexadecimal(SHA256.digest(of: content.array))
        } catch let error as NetworkError where error.kind == .httpResponseBodySize {
            throw NetworkError(
                .httpRequestError,
                side: .downstream,
                retry: .safe,
                detail: "the content is longer than the \(options.contentLimit) bytes of "
                    + "\(options.limitKey) within which its digest is computed for the signature: raise "
                    + "\(options.limitKey), or have the app send the digest in X-Amz-Content-Sha256",
                status: 413
            )
        }
    }
}
