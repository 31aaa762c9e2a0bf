import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetworkCore

/// A second target in a field of a request: the destination of a WebDAV copy or move (RFC 4918 §10.3), or
/// the source of a copy in an object store.
struct SecondTarget {
    /// The path below the upstream's URL; `nil` for another server or an invalid value.
    let path: String?
    /// The value for the upstream; `nil` if the client's value means the same there.
    let value: String?
    /// Whether the target leads out of the upstream's base path.
    let isOutside: Bool

    /// The destination of a URL in a form that clients send to netproxy.
    enum Place {
        /// The upstream's path and query for a target of this channel.
        case routed(String)
        /// Another path of the upstream or of netproxy.
        case outside
        /// Another server.
        case elsewhere
    }

    /// Returns the names of the fields that contain a second target.
    static func fields(in headers: HTTPHeaders) -> [HTTPFieldName] {
        headers.others(where: isOne)
    }

    private static let names = ["destination", "x-copy-from", "x-copy-source"]
    /// The endings of `x-amz-copy-source`, `x-ms-rename-source`, and those of other stores.
    private static let suffixes = ["-copy-source", "-rename-source", "-move-source"]

    private static func isOne(_ name: Span<UInt8>) -> Bool {
        guard name.count >= 11 else { return false }
        switch name[name.count - 1] | 0x20 {
        case UInt8(ascii: "n"), UInt8(ascii: "m"), UInt8(ascii: "e"): break
        default: return false
        }
        let likeness = HTTPFieldName.likeness(of: name.string(in: name.indices))
        return names.contains(likeness) || suffixes.contains { likeness.hasSuffix($0) }
    }

    /// Reads a value from the client.
    ///
    /// - Parameters:
    ///   - value: the value of the field.
    ///   - field: its name.
    ///   - base: the upstream's base path.
    ///   - upstream: the scheme and authority sent to the upstream.
    ///   - place: returns the destination of a target.
    init(
        _ value: String,
        in field: HTTPFieldName,
        base: String,
        upstream: String,
        place: (RequestTarget) -> Place
    ) {
        let bytes = Array(value.utf8)
        switch RequestTarget(bytes.span, for: .get) {
        case .absolute(let scheme, let authority, let path):
            switch place(.absolute(scheme, authority, path)) {
            case .routed(let target): self.init(target, upstream + target, below: base)
            case let other: self.init(other)
            }
        case .origin(let path):
            // Object stores name buckets and keys, not paths that a client requests from netproxy.
            guard field == "Destination" else { self.init(path, nil, below: ""); return }
            if case .routed(let target) = place(.origin(path)) {
                self.init(target, target, below: base)
            } else {
                self.init(path, nil, below: base)
            }
        case .asterisk, .authority, nil:
            let path = value.prefix { $0 != "?" && $0 != "#" }
            guard path.isEmpty || path.contains("://") else {
                self.init("/" + path, nil, below: "")
                return
            }
            // A lenient server may find its own authority in a URL that is malformed here.
            let scheme = path.prefix { $0 != ":" }.lowercased()
            let isURL = scheme == "http" || scheme == "https"
            self.init(isURL && !base.isEmpty ? .outside : .elsewhere)
        }
    }

    private init(_ place: Place) {
        (path, value) = (nil, nil)
        isOutside = if case .outside = place { true } else { false }
    }

    private init(_ target: String, _ value: String?, below base: String) {
        self.value = value
        isOutside = !TargetPath(target).staysUnder(base)
        path = isOutside ? nil : PathPattern.path(of: target, below: base)
    }
}
