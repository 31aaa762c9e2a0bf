import NetproxySystem
import TestSupport
import Testing

@testable import OAuth

/// The steps in which a token file replaces another.
@Suite struct FileReplacementTests {
    private let directory: TokenDirectory
    private var path: String { "\(directory.path)/orders.json" }

    init() throws { directory = try TokenDirectory() }

    private func replacement(damagedName: String? = nil) -> FileReplacement {
        FileReplacement(path: path, content: Array("new".utf8), damagedName: damagedName)
    }

    @Test func `the content is on the medium before the rename, and the name before the return`() {
        #expect(
            replacement().steps
                == [.removeLeftover, .write, .synchronizeFile, .rename, .synchronizeDirectory]
        )
    }

    @Test func `a file that cannot be read is kept once its successor is on the medium`() {
        #expect(
            replacement(damagedName: "x").steps
                == [
                    .removeLeftover, .write, .synchronizeFile, .keepDamaged(as: "x"), .rename,
                    .synchronizeDirectory,
                ]
        )
    }

    @Test func `after every step one of the two files is there whole`() throws {
        try directory.write("old", to: "orders.json")
        let aside = "\(path).corrupt-1-a"
        let replacement = replacement(damagedName: aside)
        for step in replacement.steps {
            try replacement.perform(step)
            #expect(["old", "new"].contains(try directory.text(of: "orders.json")))
        }
        #expect(try directory.text(of: "orders.json") == "new")
        #expect(try directory.text(of: "orders.json.corrupt-1-a") == "old")
        #expect(try directory.names == ["orders.json", "orders.json.corrupt-1-a"])
    }

    @Test func `synchronizing means the temporary file and the directory`() throws {
        let replacement = replacement()
        #expect(throws: FileError.self) { try replacement.perform(.synchronizeFile) }
        try replacement.perform(.write)
        try replacement.perform(.synchronizeFile)
        let nowhere = FileReplacement(path: "\(directory.path)/none/orders.json", content: [])
        #expect(throws: FileError.self) { try nowhere.perform(.synchronizeDirectory) }
    }

    @Test func `a failure leaves the old file and nothing temporary`() throws {
        try directory.write("old", to: "orders.json")
        // A directory at the target of the new name cannot be replaced.
        let blocked = FileReplacement(path: directory.path, content: Array("new".utf8))
        #expect(throws: FileError.self) { try blocked.run() }
        #expect(try directory.text(of: "orders.json") == "old")
        #expect(try FileSystem.status("\(directory.path).tmp") == nil)
    }
}
