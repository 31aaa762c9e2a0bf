import NetworkCore
import OAuth

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
