import Foundation
import Glibc
import NetproxySystem
import Testing

@Suite struct StandardStreamTests {
    @Test func `writing to a stream without a reader throws and does not end the process`() throws {
        Glibc.signal(SIGPIPE, SIG_IGN)
        let pipe = Pipe()
        let stream = StandardStream(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        try stream.write("first\n")
        #expect(pipe.fileHandleForReading.availableData == Data("first\n".utf8))
        try pipe.fileHandleForReading.close()
        let error = #expect(throws: FileError.self) { try stream.write("second\n") }
        #expect(error?.isReaderGone == true)
    }

    @Test func `a full disk throws an error and does not end the process`() throws {
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let error = #expect(throws: FileError.self) {
            try StandardStream(descriptor: full.fileDescriptor).write("line\n")
        }
        #expect(error?.isReaderGone == false)
    }

    @Test func `a write to a nonblocking stream waits until the reader has space`() async throws {
        let pipe = Pipe()
        let writing = pipe.fileHandleForWriting.fileDescriptor
        _ = fcntl(writing, F_SETFL, O_NONBLOCK)
        // Several times the capacity of a pipe.
        let text = String(repeating: "x", count: 1 << 20)
        let thread = Thread {
            do { try StandardStream(descriptor: writing).write(text) } catch {}
            do { try pipe.fileHandleForWriting.close() } catch {}
        }
        thread.start()
        #expect(try pipe.fileHandleForReading.readToEnd()?.count == 1 << 20)
    }

    @Test func `a reader that hangs loses lines, and receives the number of lost lines`() throws {
        let pipe = Pipe()
        let writing = pipe.fileHandleForWriting.fileDescriptor
        // `F_SETPIPE_SZ` of fcntl(2), which Swift does not import.
        let size = Int(fcntl(writing, 1031, 4096))
        let stream = StandardStream(descriptor: writing)
        let lines = LossyLines(stream, patience: .zero) { "\($0) lost" }
        // A pipe is ready for writing while it has space for one page.
        let long = String(repeating: "x", count: size + 9)
        for line in [long, "second", "third"] { lines.write(line) }
        #expect(pipe.fileHandleForReading.availableData.count == size)
        lines.write("fourth")
        let rest = String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
        #expect(rest == "xxxxxxxxx\n")
        lines.write("fifth")
        let more = String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
        #expect(more == "3 lost\n")
    }
}
