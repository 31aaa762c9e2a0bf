import NetproxyYAML
import Testing

/// YAML texts as values with their positions.
@Suite struct YAMLTexts {
    private func value(of text: String) throws -> YAMLNode? {
        var composer = YAMLComposer(Array(text.utf8), depthLimit: 4)
        return try composer.document()
    }

    /// Returns a value on one line: `line:column` and its content.
    private func shown(_ node: YAMLNode) -> String {
        let content =
            switch node.content {
            case .scalar(let scalar): scalar.style == .plain ? scalar.text : "'\(scalar.text)'"
            case .sequence(let items): "[\(items.map(shown).joined(separator: " "))]"
            case .mapping(let entries):
                "{\(entries.map { "\(shown($0.key))=\(shown($0.value))" }.joined(separator: " "))}"
            }
        return "\(node.mark.line):\(node.mark.column)\(content)"
    }

    private func shown(_ text: String) throws -> String? {
        try value(of: text).map(shown)
    }

    @Test func `every value has its position, and scalars stay text`() throws {
        #expect(
            try shown("a: off\nb:\n  - 1.20\n  - \"x\"\n")
                == "1:1{1:1a=1:4off 2:1b=3:3[3:51.20 4:5'x']}"
        )
    }

    @Test func `columns count Unicode scalars`() throws {
        #expect(try shown("é: { 😀: b }") == "1:1{1:1é=1:4{1:6😀=1:9b}}")
    }

    @Test func `an alias has the value and the position of its anchor`() throws {
        #expect(try shown("a: &x [1]\nb: *x\n") == "1:1{1:1a=1:4[1:81] 2:1b=1:4[1:81]}")
    }

    @Test(arguments: ["", "# nothing\n", "\n\n"])
    func `a text without a value yields no document`(text: String) throws {
        #expect(try value(of: text) == nil)
    }

    @Test func `a missing value is an empty plain scalar`() throws {
        #expect(try shown("a:\n") == "1:1{1:1a=1:3}")
    }

    @Test func `blocks and escapes become strings`() throws {
        #expect(try shown("a: |\n  b\n  c\n") == "1:1{1:1a=1:4'b\nc\n'}")
        #expect(try shown(#"a: "x\0y\u00e9""#) == "1:1{1:1a=1:4'x\0yé'}")
    }

    @Test(arguments: [
        ("a: *nowhere\n", "found undefined alias", 1, 4),
        ("a: [1\nb: 2\n", "while parsing a flow sequence: did not find expected ',' or ']'", 2, 2),
        ("a: 1\n b: 2\n", "mapping values are not allowed in this context", 2, 3),
        ("a: 'x\n", "while scanning a quoted scalar: found unexpected end of stream", 2, 1),
        ("a: 1\né: \u{1}\n", "control characters are not allowed", 2, 4),
        (
            "a: 1\n---\nb: 2\n",
            "expected a single document in the stream: but found another document", 2, 1
        ),
        ("[[[[[1]]]]]", "nested deeper than 4 levels", 1, 5),
        ("- - - - - 1", "nested deeper than 4 levels", 1, 9),
    ])
    func `an error has a position and a reason`(
        text: String,
        message: String,
        line: Int,
        column: Int
    ) {
        #expect(throws: YAMLFault(message, at: YAMLMark(line: line, column: column))) {
            try value(of: text)
        }
    }

    @Test func `endless nesting is refused at the depth limit`() {
        let text = String(repeating: "[", count: 1_000_000)
        #expect(throws: YAMLFault("nested deeper than 4 levels", at: .init(line: 1, column: 5))) {
            try value(of: text)
        }
    }

    @Test func `repeated keys are kept and listed, even before an error`() throws {
        var composer = YAMLComposer(Array("a: 1\n'a': { b: 1, b: 2 }\nc: [".utf8), depthLimit: 4)
        #expect(throws: YAMLFault.self) { try composer.document() }
        let keys = composer.repeatedKeys.map { "\($0.key) \($0.mark.line) \($0.first.line)" }
        #expect(keys == ["a 2 1", "b 2 2"])
        #expect(try shown("a: 1\na: 2\n") == "1:1{1:1a=1:41 2:1a=2:42}")
    }

    @Test func `a truncated text yields a value or an error`() {
        let text = "a: &x [1, 'b', \"\\u00e9\"]\n? [k]\n: |\n  long\nb: *x\n"
        for count in 0...text.utf8.count {
            var composer = YAMLComposer(Array(text.utf8.prefix(count)), depthLimit: 4)
            do { _ = try composer.document() } catch { #expect(!error.message.isEmpty) }
        }
    }
}
