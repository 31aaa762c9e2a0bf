import NetproxyHTTP1
import TestSupport
import Testing

/// The raw cases of `Corpus/*.http`: one verdict each, regardless of how the bytes arrive.
@Suite struct CorpusTests {
    @Test func `the corpus contains more than 800 cases`() {
        #expect(CorpusCase.all.count > 800)
        #expect(Set(CorpusCase.all.map(\.description)).count == CorpusCase.all.count)
        #expect(CorpusCase.all.allSatisfy { !$0.verdict.isEmpty })
    }

    @Test func `the corpus contains every refusal of the decoders`() {
        let seen = Set(
            CorpusCase.all.compactMap {
                $0.isRefused ? $0.verdict.last?.split(separator: " ")[1] : nil
            }
        )
        // The end of a stream is not a refusal in the corpus: `cut`.
        let expected = Set(HTTP1Error.allCases.map { Substring("\($0)") }).subtracting(["cutShort"])
        #expect(expected.subtracting(seen).isEmpty)
    }

    @Test(arguments: Set(CorpusCase.all.map(\.topic)).sorted())
    func `a case has the verdict of the corpus`(topic: String) {
        for corpusCase in CorpusCase.all where corpusCase.topic == topic {
            #expect(
                Conversation(corpusCase).verdict == corpusCase.verdict,
                "\(corpusCase)"
            )
        }
    }

    @Test(arguments: Set(CorpusCase.all.map(\.topic)).sorted())
    func `a case has one verdict regardless of how its bytes arrive`(topic: String) async {
        for corpusCase in CorpusCase.all where corpusCase.topic == topic {
            let count = corpusCase.bytes.count
            guard count <= 2000 else { continue }
            check(corpusCase, cutAt: Array(0..<count))
            for first in 0..<count {
                // Other suites need the threads.
                await Task.yield()
                check(corpusCase, cutAt: [first])
                // Every pair of cuts would take minutes for long cases.
                guard count <= 64 else { continue }
                for second in first..<count { check(corpusCase, cutAt: [first, second]) }
            }
        }
    }

    private func check(_ corpusCase: CorpusCase, cutAt cuts: [Int]) {
        let verdict = Conversation(corpusCase, cutAt: cuts).verdict
        guard verdict != corpusCase.verdict else { return }
        Issue.record("\(corpusCase), cut at \(cuts): \(verdict)")
    }
}
