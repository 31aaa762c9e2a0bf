import NetproxyBytes
package import NetproxyHTTPMessage

/// The removal of what is meant for one connection only (RFC 9110 §7.6.1), before our own fields
/// are added.
package struct HopByHop: Sendable {
    /// Protected fields that `Connection` nominated, each once: worth a log line.
    package private(set) var refused: [HTTPFieldName] = []

    /// Removes the hop-by-hop fields and everything that `Connection` nominates.
    ///
    /// `protected` may not be nominated, beside what `KnownField.isProtected` names: the fields
    /// that a channel puts its credential in.
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
        // A head may nominate thousands: each name once, and all of them in one pass.
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

    /// The fields that no other spelling may stand for: those of one hop, and those that frame.
    private static let inimitable = KnownFieldSet { $0.isHopByHop || $0 == .contentLength }

    private static func nominations(_ headers: HTTPHeaders) -> [HTTPFieldName] {
        var names: [HTTPFieldName] = []
        headers.forEachValue(of: .connection) { value in
            // Nearly always the whole of it.
            if value.equals("keep-alive", in: 0..<value.count) { return }
            _ = value.forEachElement { element in
                // Options of the connection itself, and by far the most frequent.
                if value.equals("close", in: element) || value.equals("keep-alive", in: element) {
                    return
                }
                if let name = HTTPFieldName(value.string(in: element)) { names.append(name) }
            }
        }
        return names
    }
}
