import NetproxySystem
import Testing

/// Programs that are started and left alone.
@Suite struct BackgroundProgramTests {
    @Test func `a program that does not exist is told`() {
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
