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
    ///   - route: returns the upstream's path for a target in a form that clients send to netproxy;
    ///     `nil` if it is not a target of this channel.
    init(
        _ value: String,
        in field: HTTPFieldName,
        base: String,
        upstream: String,
        route: (RequestTarget) -> String?
    ) {
        let isDestination = field == "Destination"
        let bytes = Array(value.utf8)
        switch RequestTarget(bytes.span, for: .get) {
        case .absolute(let scheme, let authority, let path):
            let target = RequestTarget.absolute(scheme, authority, path)
            guard let routed = route(target) else { (self.path, self.value) = (nil, nil); return }
            self.path = PathPattern.path(of: routed, below: base)
            self.value = upstream + routed
        case .origin(let path):
            // Object stores name buckets and keys, not paths that a client requests from netproxy.
            if isDestination, let routed = route(.origin(path)) {
                self.path = PathPattern.path(of: routed, below: base)
                self.value = routed
                return
            }
            self.value = nil
            let isOutside = isDestination && !TargetPath(path).staysUnder(base)
            self.path =
                isOutside ? nil : PathPattern.path(of: path, below: isDestination ? base : "")
        case .asterisk, .authority, nil:
            self.value = nil
            let path = value.prefix { $0 != "?" && $0 != "#" }
            self.path = path.isEmpty || path.contains("://") ? nil : "/" + path
        }
    }
}
