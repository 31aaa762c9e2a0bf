import NetproxyEventIO
import Testing

@testable import NetproxyChannels

@Suite struct ConfiguredDirectoryTests {
    @Test func `the error for a directory that cannot be created names its key`() {
        let error = #expect(throws: IOError.self) {
            try ConfiguredDirectory.make("/proc/nowhere", mode: 0o700, for: "state")
        }
        #expect(error?.description == "state: mkdir /proc/nowhere: No such file or directory")
    }
}
