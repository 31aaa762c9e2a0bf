import CNetproxyYAML

/// An event of a YAML text, with its position.
struct YAMLEvent {
    enum Kind {
        case documentStart
        case documentEnd
        /// A reference to the node with this anchor.
        case alias(String)
        case scalar(YAMLNode.Scalar)
        case sequenceStart
        case sequenceEnd
        case mappingStart
        case mappingEnd
        case streamEnd
    }

    let kind: Kind
    let anchor: String?
    let mark: YAMLMark
}

/// Reads YAML event by event; owns the libyaml parser.
// SAFETY: parser and text are allocated in `init`, freed once in `deinit`, and not exposed. The parser keeps
// a pointer to the text, which lives as long as the parser.
@safe struct YAMLEvents: ~Copyable {
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let text: UnsafeMutableBufferPointer<UInt8>

    /// Copies the text, which must be UTF-8 without a byte order mark.
    init(_ utf8: [UInt8]) {
        unsafe text = .allocate(capacity: max(utf8.count, 1))
        _ = unsafe text.initialize(from: utf8)
        unsafe parser = .allocate(capacity: 1)
        guard unsafe yaml_parser_initialize(parser) == 1 else { fatalError("out of memory") }
        unsafe yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        unsafe yaml_parser_set_input_string(parser, text.baseAddress, utf8.count)
    }

    deinit {
        unsafe yaml_parser_delete(parser)
        unsafe parser.deallocate()
        unsafe text.deallocate()
    }

    /// Returns the next event.
    ///
    /// It must not be called again after an error.
    mutating func next() throws(YAMLFault) -> YAMLEvent {
        while true {
            var event = unsafe yaml_event_t()
            guard unsafe yaml_parser_parse(parser, &event) == 1 else { throw fault }
            defer { unsafe yaml_event_delete(&event) }
            if let next = unsafe Self.event(event) { return next }
        }
    }

    /// Converts an event; `nil` for events without content.
    private static func event(_ event: yaml_event_t) -> YAMLEvent? {
        var anchor: UnsafeMutablePointer<UInt8>?
        let kind: YAMLEvent.Kind
        switch unsafe event.type {
        case YAML_DOCUMENT_START_EVENT: kind = .documentStart
        case YAML_DOCUMENT_END_EVENT: kind = .documentEnd
        case YAML_STREAM_END_EVENT: kind = .streamEnd
        case YAML_SEQUENCE_END_EVENT: kind = .sequenceEnd
        case YAML_MAPPING_END_EVENT: kind = .mappingEnd
        case YAML_ALIAS_EVENT:
            // libyaml always provides the name of an alias.
            kind = .alias(unsafe name(event.data.alias.anchor) ?? "")
        case YAML_SCALAR_EVENT:
            unsafe anchor = event.data.scalar.anchor
            kind = .scalar(unsafe scalar(event))
        case YAML_SEQUENCE_START_EVENT:
            unsafe anchor = event.data.sequence_start.anchor
            kind = .sequenceStart
        case YAML_MAPPING_START_EVENT:
            unsafe anchor = event.data.mapping_start.anchor
            kind = .mappingStart
        default: return nil
        }
        return YAMLEvent(
            kind: kind,
            anchor: unsafe name(anchor),
            mark: YAMLMark(unsafe event.start_mark)
        )
    }

    private static func scalar(_ event: yaml_event_t) -> YAMLNode.Scalar {
        let value = unsafe event.data.scalar
        let bytes = unsafe UnsafeBufferPointer(start: value.value, count: value.length)
        let isPlain = unsafe value.style == YAML_PLAIN_SCALAR_STYLE
        return YAMLNode.Scalar(
            text: unsafe String(decoding: bytes, as: UTF8.self),
            style: isPlain ? .plain : .quoted
        )
    }

    private static func name(_ text: UnsafeMutablePointer<UInt8>?) -> String? {
        unsafe text.map { unsafe String(cString: $0) }
    }

    private var fault: YAMLFault {
        let state = unsafe parser.pointee
        guard let problem = unsafe state.problem else {
            // Only the memory error has no message.
            return YAMLFault("not valid YAML", at: YAMLMark(line: 1, column: 1))
        }
        let words = unsafe String(cString: problem)
        guard unsafe state.error != YAML_READER_ERROR else {
            return YAMLFault(words, at: mark(ofByte: unsafe Int(state.problem_offset)))
        }
        let context = unsafe state.context.map { unsafe String(cString: $0) + ": " } ?? ""
        return YAMLFault(context + words, at: YAMLMark(unsafe state.problem_mark))
    }

    /// Returns the position of a byte, for errors without a line.
    private func mark(ofByte offset: Int) -> YAMLMark {
        let before = unsafe String(decoding: text.prefix(offset), as: UTF8.self).unicodeScalars
        let lines = before.split(omittingEmptySubsequences: false) { $0 == "\n" }
        return YAMLMark(line: lines.count, column: (lines.last?.count ?? 0) + 1)
    }
}

extension YAMLMark {
    fileprivate init(_ mark: yaml_mark_t) {
        self.init(line: Int(mark.line) + 1, column: Int(mark.column) + 1)
    }
}
