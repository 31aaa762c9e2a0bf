import NetproxyEventIO
import Testing

@testable import NetproxyChannels

@Suite struct ConfiguredDirectoryTests {
    @Test func `a directory that cannot be made is told with its key`() {
        let error = #expect(throws: IOError.self) {
            try ConfiguredDirectory.make("/proc/nowhere", mode: 0o700, for: "state")
        }
        #expect(error?.description == "state: mkdir /proc/nowhere: No such file or directory")
    }
}
