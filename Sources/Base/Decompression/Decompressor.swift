package import NetproxyInflation

extension Decompressor {
    /// A content coding that programs can use.
    package enum Coding: String, CaseIterable {
        /// RFC 1952; several members form one content.
        case gzip
        /// RFC 1950, or bare RFC 1951, which many servers send instead.
        case deflate
        /// RFC 7932.
        case br
        /// RFC 8878, with a window of 8 MiB at most (RFC 9659).
        case zstd
    }

    /// Creates a decoder for one content.
    package init(_ coding: Coding) {
        switch coding {
        case .gzip, .deflate: self.init(coding.rawValue, ZlibEngine(coding == .gzip ? .gzip : .deflate))
        case .br: self.init(coding.rawValue, BrotliEngine())
        case .zstd: self.init(coding.rawValue, ZstdEngine())
        }
    }
}
