/// How much of a message is accepted before it is understood; all sizes in bytes.
package struct HTTP1Limits: Sendable {
    /// The longest head, start line and final empty line included, and the longest trailer section.
    ///
    /// 16 KiB, like Node.js and Caddy, and one slab; nginx takes 4 × 8 KiB, Apache 8 KiB a line.
    /// Beyond it: 431.
    package var sectionSize = 16 * 1024
    /// The most field lines of a section.
    ///
    /// 100, like Apache and hyper. Beyond it: 431.
    package var fieldCount = 100
    /// The longest request target.
    ///
    /// 8 KiB, like nginx and Apache; RFC 9112 §3 asks for 8000 octets of request line. Beyond it:
    /// 414.
    package var targetSize = 8 * 1024
    /// The longest extension of one chunk; extensions are dropped unread.
    package var chunkExtensionSize = 256
    /// All extensions of one body: Go's CVE-2023-39326 was a body of little else.
    package var chunkExtensionTotal = 16 * 1024
    /// How many interim responses the caller accepts before the final one.
    package var informationalCount = 16

    package init() {}

    /// The longest request line: a target of full length, and room for any method.
    var requestLineSize: Int { min(sectionSize, targetSize + 64) }
}
