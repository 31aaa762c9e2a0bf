import FoundationEssentials
import NetworkCore
import OAuth

/// A directory of its own for token files, removed at the end.
final class TokenDirectory: Sendable {
    let path: String

    init() throws {
        path =
            FileManager.default.temporaryDirectory
            .appendingPathComponent("oauth-\(UInt64.random(in: 0...UInt64.max))").path
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: true
        )
    }

    deinit {
        do { try FileManager.default.removeItem(atPath: path) } catch {}
    }

    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: "\(path)/\(name)"))
    }

    func text(of name: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(filePath: "\(path)/\(name)")), as: UTF8.self)
    }
}

extension TokenRecord {
    static func forTests(_ revision: Int, refresh: String = "r") -> TokenRecord {
        var record = TokenRecord(authority: "client@https://login.example.com/token")
        record.revision = revision
        record.refreshToken = Secret(refresh)
        record.refreshExpiresAt = UnixTime(secondsSinceEpoch: 86_401.5)
        record.seed = "abc"
        record.rotates = true
        record.accessTokens["scope=read"] = TokenRecord.AccessToken(
            value: Secret("a"),
            issuedAt: UnixTime(secondsSinceEpoch: 1.5),
            expiresAt: UnixTime(secondsSinceEpoch: 3601.5),
            scope: "read"
        )
        record.intent = TokenRecord.Intent(
            fingerprint: "f",
            startedAt: UnixTime(secondsSinceEpoch: 2),
            attempts: 1
        )
        record.quarantine = TokenRecord.Quarantine(
            fingerprint: "f",
            reason: "why",
            since: UnixTime(secondsSinceEpoch: 3)
        )
        return record
    }
}
