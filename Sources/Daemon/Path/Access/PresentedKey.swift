import NetproxyBytes
import NetproxyHTTPMessage
import NetworkCore

/// Extracts possible keys from the value of a field (RFC 9110 §11.4).
enum PresentedKey {
    /// Returns the key in `Proxy-Authorization`: `Bearer KEY`, or Basic with KEY as the password.
    static func forProxy(in value: String) -> String? {
        guard let (scheme, text) = parts(of: value) else { return nil }
        return switch scheme {
        case "bearer": String(text)
        case "basic": pair(in: text)?.password
        default: nil
        }
    }

    /// Returns the texts in a field for an API that may be a key.
    ///
    /// Schemes vary among APIs: gh sends `token KEY`, Rails `Token token="KEY"`, and with Basic some
    /// expect the key as the user, without a password. AWS SDKs send it as the id of the signing key.
    static func keys(in value: String) -> [String] {
        guard let (scheme, text) = parts(of: value) else { return [] }
        if scheme == "basic", let pair = pair(in: text) {
            return pair.password.isEmpty ? [pair.user] : [pair.password]
        }
        guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) else {
            return [String(text)]
        }
        let parameter = text[text.utf8.index(after: equals)...]
            .prefix { $0 != "," && $0 != ";" }
            .drop { $0 == "\"" || $0 == " " }
            .prefix { $0 != "\"" && $0 != " " }
        guard scheme != "aws4-hmac-sha256" else { return [String(parameter.prefix { $0 != "/" })] }
        return [String(text), String(parameter)]
    }

    /// An element of a list field, or a cookie, with the texts in it that may be a key.
    struct Element {
        let text: Substring
        let keys: [String]
    }

    /// Returns the elements of a field's value.
    static func elements(of value: String, in name: HTTPFieldName) -> [Element] {
        let separator: Character = name == .cookie ? ";" : ","
        return value.split(separator: separator).map { part in
            let start = part.drop { $0 == " " || $0 == "\t" }
            let text = start.lastIndex { $0 != " " && $0 != "\t" }.map { start[...$0] } ?? ""
            guard name != SubprotocolCredential.field else {
                return Element(text: text, keys: SubprotocolCredential.texts(in: text))
            }
            let parts = [text] + text.split(separator: "=", maxSplits: 1).dropFirst()
            let bare = parts.map { $0.filter { $0 != "\"" } }
            return Element(
                text: text,
                keys: bare + bare.map { PercentEncoding.decodedSegment($0[...]) }
                    + keys(in: String(text))
            )
        }
    }

    /// Returns the texts in a query parameter that may be a key.
    static func keys(inParameter text: Substring) -> [String] {
        let parts = [text] + text.split(separator: "=", maxSplits: 1).dropFirst()
        let decoded = parts.map { PercentEncoding.decoded($0) }
        return decoded + decoded.flatMap { keys(in: $0) }
    }

    /// Returns the scheme, in lower case, and the text after it.
    private static func parts(of value: String) -> (scheme: String, text: Substring)? {
        let bytes = value.utf8
        // Schemes are short, while a value can have thousands of bytes and no space.
        guard let space = bytes.prefix(40).firstIndex(of: UInt8(ascii: " ")) else { return nil }
        guard Grammar.isToken(String(value[..<space])) else { return nil }
        let text = bytes[bytes.index(after: space)...].drop { $0 == UInt8(ascii: " ") }
        return (value[..<space].lowercased(), Substring(text))
    }

    private static func pair(in text: Substring) -> (user: String, password: String)? {
        guard let pair = Base64.decode(String(text)),
            let colon = pair.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        return (
            String(decoding: pair[..<colon], as: UTF8.self),
            String(decoding: pair[(colon + 1)...], as: UTF8.self)
        )
    }
}
