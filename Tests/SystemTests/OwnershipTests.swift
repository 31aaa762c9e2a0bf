import Foundation
import Glibc
import NetproxySystem
import Testing

/// Files that root makes in the directory of somebody else.
@Suite(.enabled(if: geteuid() == 0)) struct OwnershipTests {
    private func owner(of path: String) throws -> Int? {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.ownerAccountID] as? NSNumber)?.intValue
    }

    @Test func `a file that root makes is that of the directory's owner`() throws {
        let directory = FileManager.default.temporaryDirectory.path + "/owner-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: directory,
            withIntermediateDirectories: true
        )
        defer { try? FileManager.default.removeItem(atPath: directory) }
        // Root's own, from before.
        try FileDescriptor("\(directory)/old.lock", .createPrivate).writeAll([])
        try FileManager.default.setAttributes([.ownerAccountID: 65_534], ofItemAtPath: directory)
        for (name, mode) in [("new.lock", FileDescriptor.Mode.lock), ("new", .createPrivate)] {
            _ = try FileDescriptor("\(directory)/\(name)", mode).status()
            #expect(try owner(of: "\(directory)/\(name)") == 65_534)
        }
        // What was there may be a link to anything, and stays whose it was.
        _ = try FileDescriptor("\(directory)/old.lock", .lock).status()
        #expect(try owner(of: "\(directory)/old.lock") == 0)
    }
}
