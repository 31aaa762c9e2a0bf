/// The limits of a message; all sizes are in bytes.
package struct HTTP1Limits: Sendable {
    /// The treatment of a request whose Host is not a host.
    package enum HostRule: Sendable {
        /// The request is refused.
        case required
        /// The field is dropped, if the target is a path: many clients write the path of a unix socket.
        case optional
    }

    package var hostRule = HostRule.required
    /// The maximum size of a head, including start line and final empty line, and of a trailer section.
    ///
    /// 16 KiB, like Node.js and Caddy, and one slab; nginx allows 4 × 8 KiB, Apache 8 KiB per line. Beyond
    /// it: 431.
    package var sectionSize = 16 * 1024
    /// The maximum number of field lines in a section.
    ///
    /// 100, like Apache and hyper. Beyond it: 431.
    package var fieldCount = 100
    /// The maximum length of a request target.
    ///
    /// 8 KiB, like nginx and Apache; RFC 9112 §3 recommends 8000 octets for a request line. Beyond it: 414.
    package var targetSize = 8 * 1024
    /// The maximum length of the extensions of one chunk; extensions are validated and dropped.
    package var chunkExtensionSize = 256
    /// The maximum total length of the extensions of one body; Go's CVE-2023-39326 was a body of mostly
    /// extensions.
    package var chunkExtensionTotal = 16 * 1024
    /// The maximum number of interim responses before the final one.
    package var informationalCount = 16

    package init() {}

    /// The maximum length of a request line: a target of maximum length, with space for any method.
    var requestLineSize: Int { min(sectionSize, targetSize + 64) }
}
