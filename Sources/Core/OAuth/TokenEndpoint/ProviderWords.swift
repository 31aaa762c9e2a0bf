import FoundationEssentials
import NetworkCore

/// The codes and sentences of a refusal in a provider's own JSON.
///
/// RFC 6749 §5.2 has one shape for errors, and providers have many: `{"status": "BAD_REFRESH_TOKEN"}`,
/// `{"errors": [{"errorType": "invalid_grant"}]}`, `{"error": {"message": "…"}}`, `{"ok": false}`.
struct ProviderWords {
    /// Longer responses are pages or tokens, not errors.
    private static let sizeLimit = 64 * 1024
    /// The maximum depth of nested errors.
    private static let depth = 4
    /// Members that hold a code or a sentence, in the order in which they are shown, by the letters and
    /// digits of their names.
    private static let members = [
        "error", "suberror", "errorcode", "errcode", "errortype", "code", "status", "type", "name",
        "resource", "field", "errordescription", "errormessage", "errormsg", "errmsg",
        "errorsummary", "faultstring", "errors", "message", "msg", "reason", "detail", "details",
        "description", "title", "hint",
    ]
    /// Members that contain further codes and sentences.
    private static let containers = [
        "error", "errors", "fault", "data", "detail", "details", "meta", "response", "errorcauses",
    ]
    /// Members that mark a response as an error at any status.
    private static let marks: Set<String> = [
        "error", "errors", "errorcode", "errcode", "errortype", "fault", "errordescription",
        "errormessage", "errormsg", "errmsg", "errorsummary",
    ]

    /// Words without blanks.
    private(set) var codes: [String] = []
    /// Words for people.
    private(set) var sentences: [String] = []
    /// Whether the document says by itself that it is an error.
    private(set) var isMarked = false

    /// Whether they are a sentence in plain text, which is shown and decides nothing: it may come from
    /// anything between here and the server.
    private var isPlainText = false

    /// Reads the words of a response; `nil` if it has none.
    init?(_ body: ByteSlice, _ headers: HTTPHeaders) {
        guard body.count <= Self.sizeLimit else { return nil }
        guard let document = ServerDocument.read(JSONValue.self, from: body, headers),
            case .object(let members) = document
        else {
            guard headers[.contentType]?.lowercased().hasPrefix("text/plain") == true,
                let text = String(validating: body.array, as: UTF8.self), !text.isEmpty
            else { return nil }
            sentences = [text]
            isPlainText = true
            return
        }
        isMarked = [members["ok"], members["success"]].contains { $0?.isFalse == true }
        collect(members, within: Self.depth)
        guard isMarked || !codes.isEmpty || !sentences.isEmpty else { return nil }
    }

    private mutating func collect(_ named: [String: JSONValue], within depth: Int) {
        let members = Dictionary(named.map { (Self.squeezed($0.key), $0.value) }) { first, _ in
            first
        }
        for name in Self.members {
            guard let text = members[name]?.shown else { continue }
            // The status of the response is known.
            if name == "status" || name == "code", let number = Int(text),
                (100..<600).contains(number)
            {
                continue
            }
            if Self.marks.contains(name), text != "0" { isMarked = true }
            if Self.isCode(text) {
                if !codes.contains(text) { codes.append(text) }
            } else if !sentences.contains(text) {
                sentences.append(text)
            }
        }
        guard depth > 0 else { return }
        for name in Self.containers {
            switch members[name] {
            case .object(let inner):
                if Self.marks.contains(name) { isMarked = true }
                collect(inner, within: depth - 1)
            case .list(let items):
                if Self.marks.contains(name), !items.isEmpty { isMarked = true }
                for case .object(let inner) in items { collect(inner, within: depth - 1) }
                for case .text(let text) in items where !sentences.contains(text) {
                    sentences.append(text)
                }
            default: continue
            }
        }
    }

    private static func isCode(_ text: String) -> Bool {
        text.utf8.count <= 64
            && text.utf8.allSatisfy { Grammar.isTokenByte($0) || $0 == UInt8(ascii: ":") }
    }
}

extension ProviderWords {
    /// Codes, and whole sentences, that say of a refresh token that it is not accepted any more; compared
    /// by their letters and digits, as `bad_refresh_token` and `BadRefreshToken` are the same.
    private static let deadWords: Set<String> = [
        "invalidgrant", "badrefreshtoken", "invalidrefreshtoken", "refreshtokeninvalid",
        "expiredrefreshtoken", "refreshtokenexpired", "revokedrefreshtoken", "refreshtokenrevoked",
        "refreshtokennotfound", "refreshtokenalreadyused", "refreshtokenreused",
        "refreshtokenreuse", "tokenexpired", "tokenrevoked", "tokeninvalid", "tokeninactive",
        "tokennotfound", "invalidtoken", "expiredtoken", "revokedtoken", "sessionexpired",
        "sessionnotactive", "sessionrevoked", "accountinactive", "userrevoked", "consentrevoked",
        "authorizationrevoked", "accessrevoked", "reauthrequired", "reauthenticationrequired",
        "reauthorizationrequired", "interactionrequired", "consentrequired", "loginrequired",
    ]
    /// Sentences about a dead refresh token.
    private static let deadPhrases = [
        "invalid", "expired", "revoked", "not valid", "not found", "unknown", "inactive",
        "already used", "already been used", "not exist", "deactivated", "incorrect",
        "unrecognized", "not recognized", "consumed", "rejected",
    ]
    /// Codes that say the server is in trouble, at any status.
    private static let transientWords: Set<String> = [
        "servererror", "internalerror", "internalservererror", "fatalerror", "serviceunavailable",
        "temporarilyunavailable", "unavailable", "timeout", "requesttimeout", "gatewaytimeout",
        "ratelimited", "ratelimit", "ratelimitexceeded", "toomanyrequests", "slowdown",
        "tryagainlater", "backenderror",
    ]

    /// Whether it says that the refresh token presented is not accepted any more.
    var meansDeadRefreshToken: Bool {
        if isPlainText { return false }
        return (codes + sentences).contains { Self.deadWords.contains(Self.squeezed($0)) }
            || sentences.contains(where: Self.saysThatTokenIsDead)
            || Self.saysThatTokenIsDead((codes + sentences).joined(separator: " "))
    }

    /// Whether its sentences say so; codes of the standard keep their standard meaning.
    var sayThatRefreshTokenIsDead: Bool {
        !isPlainText
            && sentences.contains {
                Self.deadWords.contains(Self.squeezed($0)) || Self.saysThatTokenIsDead($0)
            }
    }

    /// Whether it says that the server is in trouble and may be well later.
    var meansTrouble: Bool {
        codes.contains { Self.transientWords.contains(Self.squeezed($0)) }
    }

    private static func saysThatTokenIsDead(_ sentence: String) -> Bool {
        let text = sentence.lowercased()
        // About the request or the client, or about another token.
        let others = ["client", "grant_type", "grant type", "access token", "access_token"]
        guard !others.contains(where: text.contains) else { return false }
        let squeezed = squeezed(text)
        if squeezed.contains("refreshtoken") {
            return deadPhrases.contains(where: text.contains)
        }
        guard ["token", "authorization", "consent", "access"].contains(where: text.contains) else {
            return false
        }
        return ["revoked", "has expired", "been expired", "is expired"].contains(
            where: text.contains
        )
    }

    private static func squeezed(_ text: String) -> String {
        String(
            decoding: text.utf8.compactMap { byte -> UInt8? in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                    byte
                default: nil
                }
            },
            as: UTF8.self
        )
    }
}
