import NetproxySystem
import Testing

/// Tests of programs that netproxy starts without waiting for them.
@Suite struct BackgroundProgramTests {
    @Test func `starting a program that does not exist returns false`() {
        #expect(!BackgroundProgram.start(["/nonexistent/browser"], environment: [:]))
        #expect(BackgroundProgram.start(["/bin/true"], environment: [:]))
    }

    @Test func `only an executable file is a program`() {
        #expect(FileStatus.isProgram("/bin/sh"))
        #expect(!FileStatus.isProgram("/etc/passwd"))
        #expect(!FileStatus.isProgram("/usr/bin"))
        #expect(!FileStatus.isProgram("/nonexistent"))
    }
}
