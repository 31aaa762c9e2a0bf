import FoundationEssentials
import NetworkCore

/// Encodes token records as JSON: the only place where secrets are written down.
enum TokenFile {
    /// The version of the format; a file with a higher one is not read.
    private static let version = 1
    /// The valid counts: those that JSON represents exactly (RFC 8259 §6).
    private static let counts = 0..<(1 << 53)
    /// The valid times, in seconds since 1970: the years 1 to 9999 (RFC 3339 §1).
    private static let seconds = -62_135_596_800.0...253_402_300_799.0

    private struct Document: Codable {
        var version: Int
        var revision: Int
        var session: String?
        var signed_out_at: Double?
        var authority: String
        var refresh_token: String?
        var refresh_expires_at: Double?
        var seed: String?
        var rotates: Bool?
        var access_tokens: [String: AccessToken]
        var intent: Intent?
        var quarantine: Quarantine?
        var pinned: PinnedDocument?
        var saved_at: Double?

        var times: [Double] {
            access_tokens.values.flatMap {
                [$0.issued_at, $0.expires_at, $0.refresh_at].compactMap { $0 }
            }
                + [
                    refresh_expires_at, saved_at, signed_out_at, intent?.started_at,
                    quarantine?.since,
                    pinned?.client_secret_expires_at,
                ].compactMap { $0 }
        }
    }

    private struct AccessToken: Codable {
        var value: String
        var issued_at: Double
        var expires_at: Double?
        var refresh_at: Double?
        var scope: String?
        var scheme: String?
    }

    private struct Intent: Codable {
        var fingerprint: String
        var started_at: Double
        var attempts: Int
    }

    private struct Quarantine: Codable {
        var fingerprint: String
        var reason: String
        var since: Double
    }

    static func encode(_ record: TokenRecord) throws -> [UInt8] {
        let document = Document(
            version: version,
            revision: record.revision,
            session: record.session,
            signed_out_at: record.signedOutAt?.secondsSinceEpoch,
            authority: record.authority,
            refresh_token: record.refreshToken?.reveal(),
            refresh_expires_at: record.refreshExpiresAt?.secondsSinceEpoch,
            seed: record.seed,
            rotates: record.rotates,
            access_tokens: record.accessTokens.mapValues {
                AccessToken(
                    value: $0.value.reveal(),
                    issued_at: $0.issuedAt.secondsSinceEpoch,
                    expires_at: $0.expiresAt?.secondsSinceEpoch,
                    refresh_at: $0.refreshAt?.secondsSinceEpoch,
                    scope: $0.scope,
                    scheme: $0.scheme == "Bearer" ? nil : $0.scheme
                )
            },
            intent: record.intent.map {
                Intent(
                    fingerprint: $0.fingerprint,
                    started_at: $0.startedAt.secondsSinceEpoch,
                    attempts: $0.attempts
                )
            },
            quarantine: record.quarantine.map {
                Quarantine(
                    fingerprint: $0.fingerprint,
                    reason: $0.reason,
                    since: $0.since.secondsSinceEpoch
                )
            },
            pinned: record.pinned.map(PinnedDocument.init),
            saved_at: record.savedAt?.secondsSinceEpoch
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        return try Array(encoder.encode(document))
    }

    /// Whether a later version of netproxy wrote the file, in a format that this one cannot read.
    static func isOfLaterVersion(_ content: [UInt8]) -> Bool {
        struct Head: Decodable { var version: Int }
        do {
            return try JSONDecoder().decode(Head.self, from: Data(content)).version > version
        } catch {
            // Not a file of any version.
            return false
        }
    }

    /// Parses a file; `nil` for one that is not in this format, or with numbers that no save writes and
    /// that would overflow arithmetic on times and counts.
    static func decode(_ content: [UInt8]) -> TokenRecord? {
        let document: Document
        do {
            document = try JSONDecoder().decode(Document.self, from: Data(content))
        } catch {
            // The decoder's error is dropped, because it may quote a token.
            return nil
        }
        guard document.version == version, isSound(document) else { return nil }
        var record = TokenRecord(authority: document.authority)
        record.revision = document.revision
        record.session = document.session
        record.signedOutAt = document.signed_out_at.map { UnixTime(secondsSinceEpoch: $0) }
        record.refreshToken = document.refresh_token.map { Secret($0) }
        record.refreshExpiresAt = document.refresh_expires_at.map {
            UnixTime(secondsSinceEpoch: $0)
        }
        record.seed = document.seed
        record.rotates = document.rotates
        record.accessTokens = document.access_tokens.mapValues {
            TokenRecord.AccessToken(
                value: Secret($0.value),
                issuedAt: UnixTime(secondsSinceEpoch: $0.issued_at),
                expiresAt: $0.expires_at.map { UnixTime(secondsSinceEpoch: $0) },
                refreshAt: $0.refresh_at.map { UnixTime(secondsSinceEpoch: $0) },
                scope: $0.scope,
                scheme: $0.scheme ?? "Bearer"
            )
        }
        record.intent = document.intent.map {
            TokenRecord.Intent(
                fingerprint: $0.fingerprint,
                startedAt: UnixTime(secondsSinceEpoch: $0.started_at),
                attempts: $0.attempts
            )
        }
        record.quarantine = document.quarantine.map {
            TokenRecord.Quarantine(
                fingerprint: $0.fingerprint,
                reason: $0.reason,
                since: UnixTime(secondsSinceEpoch: $0.since)
            )
        }
        record.pinned = document.pinned?.server
        record.savedAt = document.saved_at.map { UnixTime(secondsSinceEpoch: $0) }
        return record
    }

    private static func isSound(_ document: Document) -> Bool {
        document.revision > 0 && counts.contains(document.revision)
            && document.intent.map { counts.contains($0.attempts) } != false
            && document.times.allSatisfy(seconds.contains)
    }
}
