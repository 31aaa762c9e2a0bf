import Testing

/// Unsafe code lives in the targets over the system and over C libraries, and does not escape from them.
@Suite struct SafetyTests {
    private static let home: Set<String> = [
        "NetproxyBytes", "NetproxySystem", "NetproxyEventIO", "NetproxyHTTP2",
        "NetproxyCryptography", "NetproxyYAML", "NetproxyDecompression",
    ]

    @Test(arguments: [
        "unsafe", "UnsafePointer", "UnsafeMutablePointer", "UnsafeRawPointer",
        "UnsafeMutableRawPointer", "UnsafeBufferPointer", "UnsafeRawBufferPointer",
        "OpaquePointer", "Unmanaged", "nonisolated(unsafe)",
    ])
    func `there is nothing unsafe outside the lowest targets`(word: String) async throws {
        try await expectAbsent(outside: Self.home) { contains($0, word) }
    }

    @Test func `there is no unchecked Sendable outside the lowest targets`() async throws {
        try await expectAbsent(outside: Self.home) { $0.contains("@unchecked Sendable") }
    }

    @Test(arguments: ["try!", "as!", "Task.detached", "DispatchQueue", "DispatchSemaphore"])
    func `there are no shortcuts anywhere`(word: String) async throws {
        try await expectAbsent(outside: []) { $0.contains(word) }
    }

    @Test(arguments: ["NetproxySystem", "NetproxyEventIO", "NetproxyHTTP2"])
    func `a target has its C entry points in one file`(target: String) throws {
        let marks = ["takeUnretainedValue", "takeRetainedValue", "@convention(c)"]
        let lines = try SourceTree.code(of: target).filter { line in
            marks.contains { line.text.contains($0) }
        }
        #expect(!lines.isEmpty)
        for line in lines {
            #expect(line.file.hasSuffix("/Trampolines.swift"), "\(line)")
        }
    }

    @Test func `no signature of a target over a C library has a pointer`() throws {
        let signatures = try SourceTree.signatures(of: "NetproxyEventIO")
        // Seen whole: its parameters stand on lines of their own.
        #expect(
            signatures.contains {
                $0.file.hasSuffix("/ListeningSocket.swift") && $0.text.contains("package init(")
                    && $0.text.contains("mode: UInt32")
            }
        )
        let others = try ["NetproxySystem", "NetproxyCryptography", "NetproxyYAML"].flatMap(
            SourceTree.signatures
        )
        for signature in signatures + others {
            #expect(!signature.text.contains("Unsafe"), "\(signature)")
            #expect(!signature.text.contains("Unmanaged"), "\(signature)")
            #expect(!signature.text.contains("OpaquePointer"), "\(signature)")
        }
    }

    private func expectAbsent(
        outside home: Set<String>,
        _ isFound: (String) -> Bool
    ) async throws {
        for target in SourceTree.targets() where !home.contains(target) {
            // Other suites wait for the threads.
            await Task.yield()
            for line in try SourceTree.code(of: target) where isFound(line.text) {
                Issue.record("\(line)")
            }
        }
    }

    /// Whether the word stands alone, not as a part of another and not as an enum case's name.
    private func contains(_ text: String, _ word: String) -> Bool {
        var rest = text[...]
        while let range = rest.firstRange(of: word) {
            let before = text[..<range.lowerBound].last
            let after = text[range.upperBound...].first
            func continues(_ character: Character?) -> Bool {
                character.map { $0.isLetter || $0.isNumber || $0 == "_" } ?? false
            }
            // `unsafe-inline` is a word of Content-Security-Policy.
            let isPolicy = after == "-"
            if !continues(before), !continues(after), before != ".", !isPolicy,
                !text.contains("case unsafe")
            {
                return true
            }
            rest = rest[range.upperBound...]
        }
        return false
    }
}
