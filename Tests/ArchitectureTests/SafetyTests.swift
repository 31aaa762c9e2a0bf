import Testing

/// Unsafe code stays in the targets over the system and over C libraries.
@Suite struct SafetyTests {
    private static let home: Set<String> = [
        "NetproxyBytes", "NetproxySystem", "NetproxyEventIO", "NetproxyHTTP2",
        "NetproxyCryptography", "NetproxyYAML", "NetproxyInflation",
        "NetproxyDecompression",
    ]

    @Test(arguments: [
        "unsafe", "UnsafePointer", "UnsafeMutablePointer", "UnsafeRawPointer",
        "UnsafeMutableRawPointer", "UnsafeBufferPointer", "UnsafeRawBufferPointer",
        "OpaquePointer", "Unmanaged", "nonisolated(unsafe)",
    ])
    func `unsafe code exists only in the lowest targets`(word: String) async throws {
        try await expectAbsent(outside: Self.home) { contains($0, word) }
    }

    @Test func `unchecked Sendable exists only in the lowest targets`() async throws {
        try await expectAbsent(outside: Self.home) { $0.contains("@unchecked Sendable") }
    }

    @Test(arguments: ["try!", "as!", "Task.detached", "DispatchQueue", "DispatchSemaphore"])
    func `no target uses a shortcut`(word: String) async throws {
        try await expectAbsent(outside: []) { $0.contains(word) }
    }

    @Test(arguments: ["NetproxySystem", "NetproxyEventIO", "NetproxyHTTP2"])
    func `the C entry points of a target are in one file`(target: String) throws {
        let marks = ["takeUnretainedValue", "takeRetainedValue", "@convention(c)"]
        let lines = try SourceTree.code(of: target).filter { line in
            marks.contains { line.text.contains($0) }
        }
        #expect(!lines.isEmpty)
        for line in lines {
            #expect(line.file.hasSuffix("/Trampolines.swift"), "\(line)")
        }
    }

    @Test func `the signatures of a target over a C library contain no pointer`() throws {
        let signatures = try SourceTree.signatures(of: "NetproxyEventIO")
        // The signature is complete, although its parameters are on lines of their own.
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
            // Other suites need the threads.
            await Task.yield()
            for line in try SourceTree.code(of: target) where isFound(line.text) {
                Issue.record("\(line)")
            }
        }
    }

    /// Whether the word stands alone, and is neither part of another word nor the name of an enum case.
    private func contains(_ text: String, _ word: String) -> Bool {
        var rest = text[...]
        while let range = rest.firstRange(of: word) {
            let before = text[..<range.lowerBound].last
            let after = text[range.upperBound...].first
            func continues(_ character: Character?) -> Bool {
                character.map { $0.isLetter || $0.isNumber || $0 == "_" } ?? false
            }
            // `unsafe-inline` is a keyword of Content-Security-Policy.
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
