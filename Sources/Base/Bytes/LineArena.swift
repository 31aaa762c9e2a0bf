// SAFETY of `@unchecked Sendable`: shared memory is never modified.
/// Field lines in one block of memory: the bytes and an index of the lines.
///
/// A value type with copy on write. Bytes and index share one allocation, because every message has an arena.
/// Lines that many messages share can be attached without a copy.
@safe public struct LineArena: @unchecked Sendable {
    /// The position of one line.
    public struct Line: Sendable {
        /// The offset of the name.
        public var nameStart: UInt32
        /// The offset of the value.
        public var valueStart: UInt32
        /// The number of bytes in the value.
        public var valueCount: UInt32
        /// The number of bytes in the name.
        public var nameCount: UInt16
        /// A number by which the owner classifies the name.
        public var tag: UInt8
        /// The spelling of the line.
        public var form: Form

        /// The range of the name.
        public var name: Range<Int> { Int(nameStart)..<Int(nameStart) + Int(nameCount) }
        /// The range of the value.
        public var value: Range<Int> { Int(valueStart)..<Int(valueStart) + Int(valueCount) }

        /// Creates an index entry.
        @inline(__always)
        public init(name: Range<Int>, value: Range<Int>, tag: UInt8, form: Form) {
            nameStart = UInt32(truncatingIfNeeded: name.lowerBound)
            valueStart = UInt32(truncatingIfNeeded: value.lowerBound)
            valueCount = UInt32(truncatingIfNeeded: value.count)
            nameCount = UInt16(truncatingIfNeeded: name.count)
            self.tag = tag
            self.form = form
        }
    }

    /// The spelling of a line in its bytes.
    public enum Form: UInt8, Sendable {
        /// Any spelling that the grammar allows.
        case loose
        /// Exactly `name: value CRLF`.
        case verbatim
        /// Exactly `name: value CRLF`, in bytes that many arenas share.
        case attached
    }

    // SAFETY, for the whole type: only an unshared block is modified, and never beyond its capacities.
    private var block: Block?
    /// The block of the attached lines; it is never modified.
    private var attached: Block?

    /// Creates an empty arena that has allocated no memory.
    public init() {}

    /// Copies the bytes of lines that will be indexed, and reserves space for more.
    public init(_ bytes: Span<UInt8>, spareBytes: Int, lines: Int) {
        let block = Block.make(lines: lines, bytes: bytes.count + spareBytes)
        unsafe bytes.withUnsafeBytes { unsafe block.append($0) }
        self.block = block
    }

    /// The number of lines.
    public var count: Int { block?.lineCount ?? 0 }

    /// The bytes of all lines except attached ones, and any other bytes of the head.
    public var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            guard let block else { return Span() }
            let span = unsafe Span(_unsafeStart: block.bytes, count: block.byteCount)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// The lines in order.
    public var lines: Span<Line> {
        @_lifetime(borrow self)
        get {
            guard let block else { return Span() }
            let span = unsafe Span(_unsafeStart: block.index, count: block.lineCount)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// The bytes that a line's ranges refer to.
    @_lifetime(borrow self)
    @inline(__always)
    public func bytes(of line: Line) -> Span<UInt8> {
        if line.form == .attached { attachedBytes } else { bytes }
    }

    private var attachedBytes: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            guard let attached else { return Span() }
            let span = unsafe Span(_unsafeStart: attached.bytes, count: attached.byteCount)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// Indexes a line whose bytes are already in the arena.
    @inline(__always)
    public mutating func append(_ line: Line) {
        makeRoom(lines: 1, bytes: 0)
        unsafe block.unsafelyUnwrapped.append(line)
    }

    /// Adds a line and its bytes, as `name: value CRLF`.
    public mutating func append(name: Span<UInt8>, value: Span<UInt8>, tag: UInt8) {
        makeRoom(lines: 1, bytes: name.count + value.count + 4)
        let start = unsafe block.unsafelyUnwrapped.byteCount
        unsafe name.withUnsafeBytes { unsafe block.unsafelyUnwrapped.append($0) }
        unsafe block.unsafelyUnwrapped.append(0x3A, 0x20)
        unsafe value.withUnsafeBytes { unsafe block.unsafelyUnwrapped.append($0) }
        unsafe block.unsafelyUnwrapped.append(0x0D, 0x0A)
        let valueStart = start + name.count + 2
        let line = Line(
            name: start..<(start + name.count),
            value: valueStart..<(valueStart + value.count),
            tag: tag,
            form: .verbatim
        )
        unsafe block.unsafelyUnwrapped.append(line)
    }

    /// Adds all lines and all bytes of another arena.
    public mutating func append(_ other: LineArena) {
        guard let source = other.block else { return }
        guard !other.holdsLines(in: .attached) else { return copyLines(of: other) }
        makeRoom(lines: source.lineCount, bytes: source.byteCount)
        unsafe block.unsafelyUnwrapped.append(contentsOf: source)
    }

    /// Adds all lines of another arena and shares its bytes instead of copying them.
    ///
    /// Only the verbatim lines of a single arena can be shared. Other lines are copied.
    public mutating func attach(_ other: LineArena) {
        guard let source = other.block else { return }
        guard !holdsLines(in: .attached), !other.holdsLines(in: .attached),
            !other.holdsLines(in: .loose)
        else { return append(other) }
        makeRoom(lines: source.lineCount, bytes: 0)
        attached = source
        for position in 0..<source.lineCount {
            var line = unsafe source.index[position]
            line.form = .attached
            unsafe block.unsafelyUnwrapped.append(line)
        }
    }

    private func holdsLines(in form: Form) -> Bool {
        if form == .attached, attached == nil { return false }
        let lines = lines
        return lines.indices.contains { lines[$0].form == form }
    }

    private mutating func copyLines(of other: LineArena) {
        for position in other.lines.indices {
            let line = other.lines[position]
            let bytes = other.bytes(of: line)
            append(
                name: bytes.extracting(line.name),
                value: bytes.extracting(line.value),
                tag: line.tag
            )
        }
    }

    /// Removes lines from the index.
    ///
    /// - Parameter isRemoved: receives each line and the bytes that its ranges refer to.
    public mutating func removeLines(where isRemoved: (Line, Span<UInt8>) -> Bool) {
        guard count > 0 else { return }
        makeRoom(lines: 0, bytes: 0)
        guard let block else { return }
        var kept = 0
        for position in 0..<block.lineCount {
            let line = unsafe block.index[position]
            if isRemoved(line, bytes(of: line)) { continue }
            if kept != position { unsafe block.index[kept] = line }
            kept += 1
        }
        unsafe block.counts.pointee.lines = kept
    }

    /// Removes the lines whose tag is in a set, which has one bit for each tag below 64.
    public mutating func removeLines(tagged tags: UInt64) {
        guard count > 0 else { return }
        makeRoom(lines: 0, bytes: 0)
        let index = unsafe block.unsafelyUnwrapped.index
        let counts = unsafe block.unsafelyUnwrapped.counts
        var kept = 0
        for position in unsafe 0..<counts.pointee.lines {
            let line = unsafe index[position]
            if line.tag < 64, tags & (1 &<< UInt64(line.tag)) != 0 { continue }
            unsafe index[kept] = line
            kept += 1
        }
        unsafe counts.pointee.lines = kept
    }

    /// Ensures that the block exists, is unshared and has the given free space.
    @inline(__always)
    private mutating func makeRoom(lines: Int, bytes: Int) {
        guard isKnownUniquelyReferenced(&block),
            unsafe block.unsafelyUnwrapped.hasRoom(lines: lines, bytes: bytes)
        else { return copy(lines: lines, bytes: bytes) }
    }

    @inline(never)
    private mutating func copy(lines: Int, bytes: Int) {
        let (oldLines, oldBytes) = (count, block?.byteCount ?? 0)
        // Reserve more space than necessary: after one added line, others usually follow.
        let next = Block.make(
            lines: max(oldLines + lines + 8, oldLines * 2),
            bytes: max(oldBytes + bytes + 384, oldBytes * 2)
        )
        if let block {
            unsafe next.index.update(from: block.index, count: oldLines)
            unsafe next.append(UnsafeRawBufferPointer(start: block.bytes, count: oldBytes))
            unsafe next.counts.pointee.lines = oldLines
        }
        block = next
    }
}

/// The memory of an arena: counts, index and bytes in one allocation.
// SAFETY: `LineArena` modifies a block only while it holds the only reference, and keeps it alive while it
// uses the addresses.
@safe private final class Block: ManagedBuffer<Void, UInt64> {
    struct Counts {
        var lines: Int
        var bytes: Int
        let lineCapacity: Int
        let byteCapacity: Int
    }

    static func make(lines: Int, bytes: Int) -> Block {
        let size =
            MemoryLayout<Counts>.size + lines * MemoryLayout<LineArena.Line>.stride + bytes
        let buffer = Block.create(minimumCapacity: (size + 7) / 8) { _ in }
        let block = unsafe unsafeDowncast(buffer, to: Block.self)
        unsafe block.counts.initialize(
            to: Counts(lines: 0, bytes: 0, lineCapacity: lines, byteCapacity: bytes)
        )
        return block
    }

    @inline(__always)
    private var start: UnsafeMutableRawPointer {
        unsafe withUnsafeMutablePointerToElements { UnsafeMutableRawPointer($0) }
    }

    @inline(__always)
    var counts: UnsafeMutablePointer<Counts> {
        unsafe start.assumingMemoryBound(to: Counts.self)
    }

    @inline(__always)
    var index: UnsafeMutablePointer<LineArena.Line> {
        unsafe (start + MemoryLayout<Counts>.size).assumingMemoryBound(to: LineArena.Line.self)
    }

    @inline(__always)
    var bytes: UnsafeMutablePointer<UInt8> {
        unsafe UnsafeMutableRawPointer(index + counts.pointee.lineCapacity)
            .assumingMemoryBound(to: UInt8.self)
    }

    @inline(__always)
    func hasRoom(lines: Int, bytes: Int) -> Bool {
        unsafe counts.pointee.lines + lines <= counts.pointee.lineCapacity
            && counts.pointee.bytes + bytes <= counts.pointee.byteCapacity
    }

    @inline(__always)
    var lineCount: Int { unsafe counts.pointee.lines }

    @inline(__always)
    var byteCount: Int { unsafe counts.pointee.bytes }

    @inline(__always)
    func append(_ line: LineArena.Line) {
        unsafe (index + counts.pointee.lines).initialize(to: line)
        unsafe counts.pointee.lines += 1
    }

    @inline(__always)
    func append(_ source: UnsafeRawBufferPointer) {
        guard let base = source.baseAddress else { return }
        unsafe UnsafeMutableRawPointer(bytes + counts.pointee.bytes).copyMemory(
            from: base,
            byteCount: source.count
        )
        unsafe counts.pointee.bytes += source.count
    }

    /// Appends another block's bytes and lines.
    func append(contentsOf other: Block) {
        let offset = UInt32(truncatingIfNeeded: byteCount)
        unsafe append(UnsafeRawBufferPointer(start: other.bytes, count: other.byteCount))
        for position in 0..<other.lineCount {
            var line = unsafe other.index[position]
            line.nameStart &+= offset
            line.valueStart &+= offset
            append(line)
        }
    }

    @inline(__always)
    func append(_ first: UInt8, _ second: UInt8) {
        unsafe bytes[counts.pointee.bytes] = first
        unsafe bytes[counts.pointee.bytes + 1] = second
        unsafe counts.pointee.bytes += 2
    }
}
