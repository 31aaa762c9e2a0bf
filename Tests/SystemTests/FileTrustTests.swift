import Foundation
import NetproxySystem
import Testing

/// Files that users other than root and this one can replace.
@Suite struct FileTrustTests {
    /// A file in a directory in a directory, with modes.
    private struct Place: ~Copyable {
        let top = FileManager.default.temporaryDirectory
            .appending(path: "trust-\(UInt64.random(in: 0 ... .max))").path()
        var directory: String { "\(top)/inner" }
        var file: String { "\(directory)/file" }

        init(top topMode: Int = 0o755, directory mode: Int = 0o755, file fileMode: Int) throws {
            try FileManager.default.createDirectory(
                atPath: directory,
                withIntermediateDirectories: true
            )
            try Data().write(to: URL(filePath: file))
            for (path, mode) in [(file, fileMode), (directory, mode), (top, topMode)] {
                try FileManager.default.setAttributes(
                    [.posixPermissions: mode],
                    ofItemAtPath: path
                )
            }
        }

        deinit { try? FileManager.default.removeItem(atPath: top) }
    }

    @Test(
        arguments: [
            (0o755, 0o755, 0o600, nil), (0o755, 0o755, 0o644, nil),
            (0o755, 0o755, 0o666, "/inner/file"),
            (0o755, 0o777, 0o600, "/inner"), (0o777, 0o755, 0o600, ""),
            // The sticky bit protects the entries of a directory.
            (0o1777, 0o755, 0o600, nil), (0o755, 0o1777, 0o600, nil),
        ] as [(Int, Int, Int, String?)]
    )
    func `a file is replaceable by its own mode and by the directories above it`(
        top: Int,
        directory: Int,
        file: Int,
        culprit: String?
    ) throws {
        let place = try Place(top: top, directory: directory, file: file)
        let objection = FileTrust.objection(toFile: place.file)
        guard let culprit else {
            #expect(objection == nil)
            return
        }
        #expect(objection?.contains("can write to \(place.top)\(culprit)") == true)
        #expect(objection?.contains("fix: chmod go-w \(place.top)\(culprit)") == true)
    }

    @Test func `the directories of a link and of its target count`() throws {
        let target = try Place(file: 0o600)
        let open = try Place(directory: 0o777, file: 0o600)
        let link = "\(open.directory)/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target.file)
        #expect(FileTrust.objection(toFile: link)?.contains(open.directory) == true)
        let closed = try Place(file: 0o600)
        let other = "\(closed.directory)/link"
        try FileManager.default.createSymbolicLink(atPath: other, withDestinationPath: open.file)
        #expect(FileTrust.objection(toFile: other)?.contains(open.directory) == true)
        #expect(FileTrust.objection(toFile: target.file) == nil)
    }

    @Test func `another user's file is replaceable, unless that user is trusted, too`() throws {
        guard FileTrust.user == 0 else { return }
        let place = try Place(file: 0o600)
        try FileManager.default.setAttributes(
            [.ownerAccountID: 65_534],
            ofItemAtPath: place.file
        )
        #expect(FileTrust.objection(toFile: place.file)?.contains("user with id 65534") == true)
        #expect(FileTrust.objection(toFile: place.file, alsoTrusting: 65_534) == nil)
    }

    @Test func `a missing file and a pipe cause no objection`() {
        #expect(FileTrust.objection(toFile: "/nonexistent/file") == nil)
        #expect(FileTrust.objection(toFile: "/dev/null") == nil)
    }
}
