package import NetworkCore

/// AWS's refusal of a signature or its key in a 400 or 403, which have many other meanings as well.
package enum AWSRefusal: Equatable {
    /// The credentials have expired: others are wanted.
    case expired
    /// The key is not known, or not any longer.
    case unknownKey
    /// The time of the signature is too far from the server's.
    case clockSkew
    /// One of the two: EC2 has one word for an old signature and for expired credentials.
    case requestExpired

    /// The statuses of refusals, in addition to 401.
    package static let statuses: [HTTPStatus] = [400, 403]

    /// Recognizes the refusals of a channel.
    package static let further = FurtherRefusals(statuses, by: Reader())

    private static let codes: [String: AWSRefusal] = [
        "ExpiredToken": .expired, "ExpiredTokenException": .expired,
        "TokenRefreshRequired": .expired,
        "InvalidAccessKeyId": .unknownKey, "InvalidClientTokenId": .unknownKey,
        "UnrecognizedClient": .unknownKey, "UnrecognizedClientException": .unknownKey,
        "RequestTimeTooSkewed": .clockSkew, "RequestTimeTooSkewedException": .clockSkew,
        "RequestInTheFuture": .clockSkew, "RequestExpired": .requestExpired,
    ]
    /// Codes that mean this from S3 and from EC2, and may mean something else elsewhere.
    private static let codesInXML: [String: AWSRefusal] = [
        "InvalidToken": .unknownKey, "AuthFailure": .unknownKey,
    ]
    /// Codes of wrong signatures: the message says whether the time is the reason.
    private static let signatureCodes: Set<String> = [
        "InvalidSignature", "InvalidSignatureException", "SignatureDoesNotMatch",
    ]
    /// The beginnings of messages without a code, or with one of these.
    private static let beginnings: [(String, AWSRefusal)] = [
        ("Signature expired", .clockSkew), ("Signature not yet current", .clockSkew),
        ("The security token included in the request is expired", .expired),
        ("The security token included in the request is invalid", .unknownKey),
    ]

    /// Reads a response; `nil` if it is not such a refusal.
    ///
    /// A field that names the error takes precedence over the content, which may quote a user.
    package init?(_ headers: HTTPHeaders, _ content: ByteSlice?) {
        let named = AWSRefusal.codes(in: headers)
        if let refusal = AWSRefusal.refusal(in: named) {
            self = refusal
            return
        }
        guard let content, AWSRefusal.leavesOpen(named) else { return nil }
        let document = AWSErrorDocument(content)
        if named.isEmpty, let code = document.code {
            let known = AWSRefusal.codes[code]
            if let refusal = known ?? (document.isXML ? AWSRefusal.codesInXML[code] : nil) {
                self = refusal
                return
            }
            guard AWSRefusal.signatureCodes.contains(code) else { return nil }
        }
        let row = AWSRefusal.beginnings.first { document.message?.hasPrefix($0.0) == true }
        guard let row else { return nil }
        self = row.1
    }

    /// The fields that name errors: those of JSON and REST, and of services that had the query protocol.
    private static let errorFields: [HTTPFieldName] = ["X-Amzn-ErrorType", "X-Amzn-Query-Error"]

    private static func codes(in headers: HTTPHeaders) -> [String] {
        errorFields.flatMap { headers.values(of: $0) }.map(AWSErrorDocument.name)
    }

    private static func refusal(in named: [String]) -> AWSRefusal? {
        for code in named {
            if let refusal = codes[code] { return refusal }
        }
        return nil
    }

    /// Whether the content must tell.
    private static func leavesOpen(_ named: [String]) -> Bool {
        named.isEmpty || named.contains { signatureCodes.contains($0) }
    }

    private struct Reader: RefusalReading {
        func isRefusal(_ headers: HTTPHeaders) -> Bool? {
            let named = AWSRefusal.codes(in: headers)
            if AWSRefusal.refusal(in: named) != nil { return true }
            return AWSRefusal.leavesOpen(named) ? nil : false
        }

        func isRefusal(_ headers: HTTPHeaders, _ content: ByteSlice) -> Bool {
            AWSRefusal(headers, content) != nil
        }
    }
}
