public import FoundationEssentials
import Synchronization

/// A form of named parts, `multipart/form-data` (RFC 7578).
///
/// The boundary is created once, so that every attempt sends the same bytes. Files are read while they are
/// sent,
/// once per attempt; a file that has changed in between is an error. A form of at most 64 KiB is assembled in
/// memory.
public struct MultipartForm: Sendable {
    /// The source of a part's content.
    public enum Content: Sendable {
        /// Bytes in memory.
        case data(Data)
        /// A file that is read while it is sent.
        case file(path: String)
    }

    /// A part of a form.
    public struct Part: Sendable {
        /// The name of the form's field.
        public var name: String
        /// The content.
        public var content: Content
        /// The name of the file, if the part is a file.
        public var filename: String?
        /// The media type; `nil` omits the field, which means `text/plain`.
        public var contentType: String?

        /// Creates a part.
        public init(
            _ name: String,
            _ content: Content,
            filename: String? = nil,
            contentType: String? = nil
        ) {
            self.name = name
            self.content = content
            self.filename = filename
            self.contentType = contentType
        }
    }

    /// The parts, in the order of the content.
    public var parts: [Part]
    /// The boundary of the parts: 1 to 70 letters, digits or `'()+_,-./:=?` (RFC 2046 §5.1.1).
    public var boundary: String

    /// Creates a form; the default boundary contains 128 random bits.
    public init(_ parts: [Part] = [], boundary: String? = nil) {
        self.parts = parts
        self.boundary = boundary ?? MultipartForm.randomBoundary()
    }

    /// Appends a field with a text.
    public mutating func append(_ name: String, text: String) {
        parts.append(Part(name, .data(Data(text.utf8))))
    }

    /// Appends a field with a text.
    public mutating func append(_ name: String, _ text: String) { append(name, text: text) }

    /// Appends bytes as a file.
    public mutating func append(
        _ name: String,
        data: Data,
        filename: String? = nil,
        contentType: String? = nil
    ) {
        parts.append(Part(name, .data(data), filename: filename, contentType: contentType))
    }

    /// Appends a file that is read while it is sent; the default `filename` is the last component of its
    /// path.
    public mutating func append(
        _ name: String,
        file path: String,
        filename: String? = nil,
        contentType: String? = "application/octet-stream"
    ) {
        let last = path.split(separator: "/").last.map(String.init)
        parts.append(
            Part(name, .file(path: path), filename: filename ?? last, contentType: contentType)
        )
    }

    /// Appends a file that is read while it is sent; the default `filename` is the last component of its
    /// path.
    public mutating func append(
        _ name: String,
        file url: URL,
        filename: String? = nil,
        contentType: String? = "application/octet-stream"
    ) {
        let path = url.path(percentEncoded: false)
        append(name, file: path, filename: filename, contentType: contentType)
    }

    /// The value of `Content-Type`.
    public var contentType: String { "multipart/form-data; boundary=\"\(boundary)\"" }

    /// Returns the body.
    ///
    /// - Throws: `http_request_error` for an invalid boundary or media type, or a file that cannot be read.
    public func body() throws(NetworkError) -> HTTPBody {
        guard MultipartForm.isBoundary(boundary) else {
            throw NetworkError.unsendable("the boundary is not 1 to 70 characters of RFC 2046")
        }
        var pieces: [MultipartPiece] = []
        var length = 0
        for part in parts {
            let head = ByteSlice(try head(of: part))
            pieces.append(.bytes(head))
            let content: MultipartPiece
            switch part.content {
            case .data(let data): content = .bytes(ByteSlice(data.span))
            case .file(let path):
                content = .file(try FileContent.open(path))
            }
            pieces += [content, .bytes(ByteSlice("\r\n"))]
            length += head.count + content.length + 2
        }
        let end = ByteSlice("--\(boundary)--\r\n")
        pieces.append(.bytes(end))
        length += end.count
        guard length <= FileContent.inlineLimit else {
            return .stream(MultipartBody(pieces), length: length)
        }
        var whole: [UInt8] = []
        for piece in pieces { whole += try piece.whole().array }
        return .bytes(ByteSlice(whole))
    }

    private func head(of part: Part) throws(NetworkError) -> String {
        var text = "--\(boundary)\r\nContent-Disposition: form-data; name=\""
        text += MultipartForm.quoted(part.name) + "\""
        if let filename = part.filename {
            text += "; filename=\"" + MultipartForm.quoted(filename) + "\""
        }
        text += "\r\n"
        if let type = part.contentType {
            guard Grammar.isFieldValue(type) else {
                throw NetworkError.unsendable("a media type has no control bytes")
            }
            text += "Content-Type: \(type)\r\n"
        }
        return text + "\r\n"
    }

    /// Escapes a name like browsers (WHATWG HTML, "multipart/form-data encoding algorithm").
    private static func quoted(_ text: String) -> String {
        PercentEncoding.replacing(text) { byte in
            switch byte {
            case UInt8(ascii: "\""): "%22"
            case UInt8(ascii: "\r"): "%0D"
            case UInt8(ascii: "\n"): "%0A"
            default: nil
            }
        }
    }

    private static func isBoundary(_ text: String) -> Bool {
        (1...70).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                Grammar.isTokenByte($0) && $0 < 0x7B && !"!#$%&*^`|~".utf8.contains($0)
                    || "(),/:=?".utf8.contains($0)
            }
    }

    private static func randomBoundary() -> String {
        let bits = String(UInt64.random(in: .min ... .max), radix: 36)
        return "part-\(bits)-\(String(UInt64.random(in: .min ... .max), radix: 36))"
    }
}

/// A piece of a multipart body.
private enum MultipartPiece: Sendable {
    case bytes(ByteSlice)
    case file(FileBody)

    var length: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .file(let file): file.length
        }
    }

    /// The same piece for another attempt.
    var repeated: MultipartPiece {
        switch self {
        case .bytes: self
        case .file(let file): .file(file.repeated())
        }
    }

    func whole() throws(NetworkError) -> ByteSlice {
        switch self {
        case .bytes(let bytes): bytes
        case .file(let file): try file.whole()
        }
    }
}

/// The pieces of a form, one after another.
private final class MultipartBody: RepeatableBodySource {
    private let all: [MultipartPiece]
    private let pieces: Mutex<ArraySlice<MultipartPiece>>

    init(_ pieces: [MultipartPiece]) {
        all = pieces
        self.pieces = Mutex(pieces[...])
    }

    func fromStart() -> any RepeatableBodySource { MultipartBody(all.map(\.repeated)) }

    func next() async throws -> ByteSlice? {
        while let piece = pieces.withLock({ $0.first }) {
            switch piece {
            case .bytes(let bytes):
                pieces.withLock { $0 = $0.dropFirst() }
                if !bytes.isEmpty { return bytes }
            case .file(let file):
                if let bytes = try await file.next() { return bytes }
                pieces.withLock { $0 = $0.dropFirst() }
            }
        }
        return nil
    }
}
