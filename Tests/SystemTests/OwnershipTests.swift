import Foundation
import Glibc
import NetproxySystem
import Testing

/// Tests of files that root creates in the directory of another user.
@Suite(.enabled(if: geteuid() == 0)) struct OwnershipTests {
    private func owner(of path: String) throws -> Int? {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.ownerAccountID] as? NSNumber)?.intValue
    }

    @Test func `a file created by root belongs to the owner of the directory`() throws {
        let directory = FileManager.default.temporaryDirectory.path + "/owner-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: directory,
            withIntermediateDirectories: true
        )
        defer { try? FileManager.default.removeItem(atPath: directory) }
        // A file that already exists and belongs to root.
        try FileDescriptor("\(directory)/old.lock", .createPrivate).writeAll([])
        try FileManager.default.setAttributes([.ownerAccountID: 65_534], ofItemAtPath: directory)
        for (name, mode) in [("new.lock", FileDescriptor.Mode.lock), ("new", .createPrivate)] {
            _ = try FileDescriptor("\(directory)/\(name)", mode).status()
            #expect(try owner(of: "\(directory)/\(name)") == 65_534)
        }
        // An existing file may be a link to any other file, so its owner does not change.
        _ = try FileDescriptor("\(directory)/old.lock", .lock).status()
        #expect(try owner(of: "\(directory)/old.lock") == 0)
    }
}
