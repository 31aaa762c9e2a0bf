package import NetproxyBytes
package import NetproxyHTTPMessage

/// The form of gRPC that a message uses, by its content type.
package enum RPCForm: Sendable, Hashable {
    /// gRPC: the status is in the head or the trailers.
    case native
    /// gRPC-Web: the status is in the last frame of the content.
    case web
    /// gRPC-Web whose content is base64.
    case webText

    /// Returns the form of a message; `nil` if it does not belong to a call.
    package init?(of headers: HTTPHeaders) {
        guard headers.contains(KnownField.contentType) else { return nil }
        var form: RPCForm?
        headers.forEachValue(of: .contentType) { form = form ?? RPCForm(contentType: $0) }
        guard let form else { return nil }
        self = form
    }

    private init?(contentType: Span<UInt8>) {
        for (name, form) in RPCForm.names {
            let count = name.utf8CodeUnitCount
            guard contentType.count >= count, contentType.equals(name, in: 0..<count) else {
                continue
            }
            if contentType.count > count {
                switch contentType[count] {
                case UInt8(ascii: "+"), UInt8(ascii: ";"), 0x20, 0x09: break
                default: continue
                }
            }
            self = form
            return
        }
        return nil
    }

    private static let names: [(StaticString, RPCForm)] = [
        ("application/grpc", .native), ("application/grpc-web", .web),
        ("application/grpc-web-text", .webText),
    ]

    /// The content type of a response without messages.
    package var contentType: String {
        switch self {
        case .native: "application/grpc"
        case .web: "application/grpc-web"
        case .webText: "application/grpc-web-text"
        }
    }
}

/// The end of a call: its status and a message for people.
package struct RPCEnding: Sendable {
    package let status: RPCStatus
    private let message: String

    package init(_ status: RPCStatus, _ message: String) {
        self.status = status
        self.message = RPCEnding.encoded(message)
    }

    /// The fields of a head or of trailers.
    package var fields: HTTPHeaders {
        var fields = HTTPHeaders()
        fields.append(HTTPField(validated: RPCStatus.field, "\(status.rawValue)"))
        fields.append(HTTPField(validated: RPCStatus.messageField, message))
        return fields
    }

    /// The last frame of gRPC-Web content; `nil` for gRPC, which has trailers.
    package func frame(in form: RPCForm) -> ByteSlice? {
        let text = "grpc-status:\(status.rawValue)\r\ngrpc-message:\(message)\r\n"
        let count = text.utf8.count
        let bytes = [0x80] + [24, 16, 8, 0].map { UInt8(count >> $0 & 255) } + Array(text.utf8)
        return switch form {
        case .native: nil
        case .web: ByteSlice(bytes)
        case .webText: ByteSlice(Base64.encode(bytes))
        }
    }

    /// Encodes a text for the message field: everything but visible ASCII is percent-encoded.
    private static func encoded(_ text: String) -> String {
        var result: [UInt8] = []
        let digits = Array("0123456789ABCDEF".utf8)
        for byte in text.utf8 {
            if byte >= 0x20, byte < 0x7F, byte != UInt8(ascii: "%") {
                result.append(byte)
            } else {
                result += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}

/// The position in the frames of gRPC-Web content.
package struct RPCFrames: Sendable {
    private let isText: Bool
    /// The bits of an incomplete group of base64, and the number of its characters.
    private var group: (bits: UInt32, count: Int) = (0, 0)
    /// The number of bytes read of the current frame's flags and length.
    private var headCount = 0
    /// The number of missing bytes of the current frame's content.
    private var left: UInt32 = 0
    /// Whether the current or last frame contains the status.
    private var isLast = false

    package init(_ form: RPCForm) { isText = form == .webText }

    /// Whether another frame may follow the content so far.
    package var isAtBoundary: Bool { headCount == 0 && group.count == 0 }
    /// Whether the content so far contains the status.
    package var hasStatus: Bool { isAtBoundary && isLast }

    /// Advances by a piece of content.
    package mutating func advance(over piece: Span<UInt8>) {
        for index in piece.indices {
            if isText { decode(piece[index]) } else { read(piece[index]) }
        }
    }

    private mutating func decode(_ character: UInt8) {
        if character == UInt8(ascii: "=") {
            // A padded group has 2 or 3 characters, and so 1 or 2 bytes.
            guard group.count > 1 else { return }
            let bits = group.bits << UInt32(6 * (4 - group.count))
            for index in 0..<(group.count - 1) { read(UInt8(bits >> (16 - 8 * index) & 255)) }
            group = (0, 0)
        } else if let value = RPCFrames.alphabet.firstIndex(of: character) {
            group = (group.bits << 6 | UInt32(value), group.count + 1)
            guard group.count == 4 else { return }
            let bits = group.bits
            group = (0, 0)
            for shift in [16, 8, 0] { read(UInt8(bits >> UInt32(shift) & 255)) }
        }
    }

    private mutating func read(_ byte: UInt8) {
        switch headCount {
        case 0:
            isLast = byte & 0x80 != 0
            (headCount, left) = (1, 0)
        case 1...4:
            left = left << 8 | UInt32(byte)
            headCount += 1
            if headCount == 5, left == 0 { headCount = 0 }
        default:
            left -= 1
            if left == 0 { headCount = 0 }
        }
    }

    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
    )
}
