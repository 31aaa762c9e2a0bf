/// A decoder of one content, implemented by a library.
package protocol DecompressionEngine: AnyObject {
    /// Whether everything that began is complete.
    var isComplete: Bool { get }

    /// Consumes part of the input and produces part of the output. Bytes after the content are consumed and
    /// dropped.
    func step(
        _ input: UnsafePointer<UInt8>,
        _ count: Int,
        _ output: UnsafeMutablePointer<UInt8>,
        _ capacity: Int
    ) throws(EngineFault) -> (taken: Int, given: Int)
}

/// An error of the library for content that it cannot read.
package struct EngineFault: Error {
    package let reason: String

    package init(reason: String) { self.reason = reason }
}
