import NetproxyHTTPMessage

extension [String] {
    /// The texts as a choice: `a, b or c`.
    var alternatives: String {
        count < 2 ? joined() : "\(dropLast().joined(separator: ", ")) or \(self[count - 1])"
    }
}

/// The syntax of various kinds of text.
enum TextRules {
    /// Whether the text is nonempty and has no control characters.
    static func isPlain(_ text: String) -> Bool {
        !text.isEmpty
            && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    /// Whether the text is a valid name for an environment variable in every shell.
    static func isVariableName(_ text: String) -> Bool {
        text.first?.isNumber == false
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    /// Returns the name of a variable if the text is a shell variable: `$NAME` or `${NAME}`.
    static func variable(_ text: String) -> String? {
        guard text.hasPrefix("$") else { return nil }
        let isBraced = text.hasPrefix("${") && text.hasSuffix("}")
        let name = String(isBraced ? text.dropFirst(2).dropLast() : text.dropFirst())
        return !name.isEmpty && isVariableName(name) ? name : nil
    }

    /// Returns the advice about a variable instead of a value, or `nil` for any other text.
    static func variableAdvice(_ text: String) -> String? {
        variable(text) == nil
            ? nil : ": variables are not replaced; only a secret may be in one, as env:NAME"
    }

    /// Whether the text matches `[a-z0-9][a-z0-9-]*`, with at most 63 characters.
    static func isChannelName(_ text: String) -> Bool {
        text.first != "-" && (1...63).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    /// Whether the text is an absolute URI without a fragment (RFC 3986 §4.3), as RFC 8707 §2 requires.
    static func isResource(_ text: String) -> Bool {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")),
            let first = text.first, first.isASCII, first.isLetter,
            text.utf8.index(after: colon) < text.utf8.endIndex
        else { return false }
        let isScheme = text[..<colon].utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "+-.".utf8.contains(byte)
            }
        }
        return isScheme && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x23 }
    }

    /// Returns the text if it is a method (RFC 9110 §9.1) in upper case.
    static func method(_ text: String) -> String? {
        Grammar.isToken(text) && text == text.uppercased() ? text : nil
    }

    /// Returns the text if it is a path without a query, or a pattern that begins with a star, in ASCII.
    static func pathPattern(_ text: String) -> String? {
        let isOne =
            (text.hasPrefix("/") || text.hasPrefix("*"))
            && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !"?#".utf8.contains($0) }
        return isOne ? text : nil
    }

    /// Whether the text is a `scope-token` (RFC 6749 §3.3).
    static func isScope(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
    }
}
