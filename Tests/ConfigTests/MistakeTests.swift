import FoundationEssentials
import Testing

/// A file with a mistake, and the only line printed about it.
struct Mistake: CustomTestStringConvertible {
    let name: String
    let text: String
    /// The position, key and message.
    let error: String

    var testDescription: String { name }

    /// The mistakes in `Corpus/mistakes.txt`: `###` and a name, the file, `>>>` and the error.
    static let all: [Mistake] = {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Corpus/mistakes.txt")
        guard let data = FileManager.default.contents(atPath: file.path) else { return [] }
        return String(decoding: data, as: UTF8.self).split(separator: "### ").compactMap { block in
            let parts = block.split(separator: ">>> ")
            guard parts.count == 2, let nameEnd = parts[0].firstIndex(of: "\n") else { return nil }
            return Mistake(
                name: String(parts[0][..<nameEnd]),
                text: String(parts[0][parts[0].index(after: nameEnd)...]),
                error: String(parts[1].dropLast())
            )
        }
    }()
}

@Suite struct MistakeTests {
    @Test(arguments: Mistake.all)
    func `the error of a mistake has its position and says what to write instead`(mistake: Mistake)
    {
        #expect(errors(in: mistake.text) == ["netproxy.yaml:\(mistake.error)"])
    }

    @Test func `there are more than sixty mistakes`() {
        #expect(Mistake.all.count > 60)
    }

    @Test func `JSON, byte order marks and Windows line ends are not mistakes`() {
        #expect(errors(in: #"{"channels": {"a": {"upstream": "https://a.example"}}}"#).isEmpty)
        #expect(errors(in: "channels:\r\n  a:\r\n    upstream: https://a.example\r\n").isEmpty)
    }
}
