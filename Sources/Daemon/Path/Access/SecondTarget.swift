import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetworkCore

/// A second place that a request names in a field: where WebDAV copies or moves to (RFC 4918 §10.3), or
/// where an object store copies from.
struct SecondTarget {
    /// The path below the upstream's URL; `nil` for another server, and for what cannot be read.
    let path: String?
    /// The value for the upstream; `nil` where the app's own says the same there.
    let value: String?

    /// The names of a request's fields that hold one.
    static func fields(in headers: HTTPHeaders) -> [HTTPFieldName] {
        headers.others(where: isOne)
    }

    private static let names = ["destination", "x-copy-from", "x-copy-source"]
    /// As in `x-amz-copy-source`, `x-ms-rename-source`, and those of other stores.
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

    /// Reads a value as one app means it.
    ///
    /// - Parameters:
    ///   - value: the field's.
    ///   - field: its name.
    ///   - base: the upstream's base path.
    ///   - upstream: the upstream's scheme and the authority that is sent to it.
    ///   - route: finds the upstream's path for a target in a form that apps ask netproxy with; `nil` if
    ///     that is not a target of this channel.
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
            // Object stores name buckets and keys, not paths that an app asks netproxy for.
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
