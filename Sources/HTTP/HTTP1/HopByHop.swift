import NetproxyBytes
package import NetproxyHTTPMessage

/// The removal of fields that concern only one connection (RFC 9110 §7.6.1), before netproxy adds its own.
package struct HopByHop: Sendable {
    /// The protected fields that `Connection` nominated, each once; they are logged.
    package private(set) var refused: [HTTPFieldName] = []

    /// Removes the hop-by-hop fields and all fields that `Connection` nominates.
    ///
    /// `protected` fields may not be nominated, in addition to those of `KnownField.isProtected`: the fields
    /// in which a channel sends its credential.
    package init(
        removingFrom headers: inout HTTPHeaders,
        protecting protected: [HTTPFieldName] = []
    ) {
        guard headers.hasUnusualNames || !headers.knownFields.isDisjoint(with: .hopByHop) else {
            return
        }
        let nominated = headers.contains(KnownField.connection) ? HopByHop.nominations(headers) : []
        headers.remove(.hopByHop)
        headers.removeImitations(of: HopByHop.inimitable)
        // A head can nominate thousands of fields: collect each name once, and remove all in one pass.
        var removed: Set<HTTPFieldName> = []
        for name in nominated {
            if name.known?.isProtected != true, !protected.contains(where: name.looksLike) {
                removed.insert(name)
            } else if !refused.contains(name) {
                refused.append(name)
            }
        }
        headers.remove(removed)
    }

    /// The fields for which no other spelling is permitted: hop-by-hop fields and `Content-Length`.
    private static let inimitable = KnownFieldSet { $0.isHopByHop || $0 == .contentLength }

    private static func nominations(_ headers: HTTPHeaders) -> [HTTPFieldName] {
        var names: [HTTPFieldName] = []
        headers.forEachValue(of: .connection) { value in
            // Usually this is the complete value.
            if value.equals("keep-alive", in: 0..<value.count) { return }
            _ = value.forEachElement { element in
                // Options of the connection itself, and by far the most frequent ones.
                if value.equals("close", in: element) || value.equals("keep-alive", in: element) {
                    return
                }
                if let name = HTTPFieldName(value.string(in: element)) { names.append(name) }
            }
        }
        return names
    }
}
