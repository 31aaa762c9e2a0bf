import NetproxySystem

/// A file with the highest revision of each session that this machine has used, so that a restart does not
/// accept an older copy of the tokens.
///
/// One session and its revision stand in each line; neither is secret.
package struct RevisionFile: Sendable {
    /// The number of sessions to keep; each sign-in starts one.
    private static let sessionLimit = 64
    /// The largest accepted file.
    private static let limit = 1 << 14

    private let path: String

    /// Names the file of a family in a directory of this machine.
    package init(in directory: String, family: String) {
        path = "\(directory)/\(FamilyName.encoded(family)).revisions"
    }

    /// Returns the revisions; none without a readable file.
    package func read() async -> [String: Int] { await OffLoop.runForStore { content } }

    private var content: [String: Int] {
        var found: [String: Int] = [:]
        do throws(FileError) {
            let content = try FileDescriptor(path, .read).readAll(upTo: Self.limit) ?? []
            for line in String(decoding: content, as: UTF8.self).split(separator: "\n") {
                let words = line.split(separator: " ")
                guard words.count == 2, let revision = Int(words[1]), revision > 0 else { continue }
                found[String(words[0])] = revision
            }
        } catch {
            // Protection from older copies then lasts only while the process runs.
        }
        return found
    }

    /// Replaces the file; a failure leaves the earlier one.
    package func write(_ revisions: [String: Int]) async {
        await OffLoop.runForStore { replace(by: revisions) }
    }

    private func replace(by revisions: [String: Int]) {
        let highest = revisions.sorted { $0.value > $1.value }.prefix(Self.sessionLimit)
        let text = highest.map { "\($0.key) \($0.value)\n" }.joined()
        do throws(FileError) {
            try FileReplacement(path: path, content: Array(text.utf8)).run()
        } catch {
            // The next write tries again.
        }
    }
}
