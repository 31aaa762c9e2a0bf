import FoundationEssentials
import NetworkCore

/// The error in the content of a response of AWS, in the form of one of its protocols: XML, JSON or
/// CBOR.
struct AWSErrorDocument {
    /// The name of the error, such as `ExpiredTokenException`; `nil` where only a field names it, as from
    /// API Gateway.
    let code: String?
    /// The service's message.
    let message: String?
    /// Whether it is XML.
    let isXML: Bool

    /// Reads content; of any other there is neither a code nor a message.
    init(_ content: ByteSlice) {
        let bytes = content.array
        let first = bytes.first { !" \t\r\n".utf8.contains($0) }
        isXML = first == UInt8(ascii: "<")
        if isXML {
            let document = STSDocument(bytes)
            code = document?.text(of: "Code")
            message = document?.text(of: "Message")
        } else if first == UInt8(ascii: "{") {
            let members = try? JSONDecoder().decode(Members.self, from: Data(bytes))
            code = members?.code.map(AWSErrorDocument.name)
            message = members?.message
        } else {
            let texts = AWSErrorDocument.textsOfCBOR(bytes)
            code = texts["__type"].map(AWSErrorDocument.name)
            message = texts["message"] ?? texts["Message"]
        }
    }

    /// The name in a code as it is written in fields and in JSON, such as
    /// `com.amazon.coral.service#ExpiredTokenException:http://internal.amazon.com/` or `ExpiredToken;Sender`.
    static func name(_ code: String) -> String {
        let code = code.prefix { $0 != ":" && $0 != ";" }
        return String(code.split(separator: "#").last ?? "").filter { $0 != " " }
    }

    private struct Members: Decodable {
        let code: String?
        let message: String?

        private enum Key: String, CodingKey {
            case type = "__type"
            case code, message
            case capitalCode = "Code"
            case capitalMessage = "Message"
            case error = "Error"
        }

        init(from decoder: any Decoder) throws {
            let outer = try decoder.container(keyedBy: Key.self)
            // The query protocol in JSON has both within `Error`.
            let members = (try? outer.nestedContainer(keyedBy: Key.self, forKey: .error)) ?? outer
            func text(_ keys: [Key]) -> String? {
                for key in keys {
                    // Other values than texts are not codes of AWS.
                    if let text = try? members.decode(String.self, forKey: key) { return text }
                }
                return nil
            }
            code = text([.type, .code, .capitalCode])
            message = text([.message, .capitalMessage])
        }
    }

    /// The texts at the beginning of a map in CBOR (RFC 8949 §3.1), up to the first other member.
    private static func textsOfCBOR(_ content: [UInt8]) -> [String: String] {
        var rest = content[...]
        guard let head = rest.popFirst(), head >> 5 == 5, head != 0xB8 else { return [:] }
        var texts: [String: String] = [:]
        while let name = textOfCBOR(&rest), let value = textOfCBOR(&rest) { texts[name] = value }
        return texts
    }

    private static func textOfCBOR(_ rest: inout ArraySlice<UInt8>) -> String? {
        guard let head = rest.popFirst(), head >> 5 == 3 else { return nil }
        var length = Int(head & 31)
        if length >= 24 {
            // In one byte or two: no code and no message is longer.
            guard length <= 25, rest.count >= length - 23 else { return nil }
            let digits = rest.prefix(length - 23)
            rest = rest.dropFirst(digits.count)
            length = digits.reduce(0) { $0 << 8 | Int($1) }
        }
        guard rest.count >= length else { return nil }
        defer { rest = rest.dropFirst(length) }
        return String(validating: rest.prefix(length), as: UTF8.self)
    }
}
