import NetproxyBytes
import Testing

@testable import NetproxyEventIO

/// Tests of the assumed state of the kernel buffers between two reports.
@Suite struct SocketReadinessTests {
    @Test func `a new socket is readable and writable until a call finds otherwise`() {
        var readiness = SocketReadiness()
        #expect(readiness.mayBeReadable && readiness.isWritable && !readiness.isPeerClosed)
        readiness.drained()
        readiness.filled()
        #expect(!readiness.mayBeReadable && !readiness.isWritable)
        readiness.becameReadable()
        readiness.becameWritable()
        #expect(readiness.mayBeReadable && readiness.isWritable)
    }

    @Test func `a short read means an empty kernel buffer, and a full read does not`() {
        var readiness = SocketReadiness()
        let isFullReadDrained = readiness.didRead(100, of: 100)
        #expect(!isFullReadDrained && readiness.mayBeReadable)
        let isShortReadDrained = readiness.didRead(99, of: 100)
        #expect(isShortReadDrained)
        #expect(!readiness.mayBeReadable)
    }

    @Test func `a short read leaves the end of the stream to be read`() {
        var readiness = SocketReadiness()
        readiness.drained()
        readiness.peerClosed()
        #expect(readiness.mayBeReadable)
        let isDrained = readiness.didRead(99, of: 100)
        #expect(!isDrained && readiness.mayBeReadable)
    }

    @Test func `the peer is closed once the end was read`() {
        var readiness = SocketReadiness()
        readiness.readEnd()
        #expect(readiness.isPeerClosed)
    }
}

/// Tests of messages that are sent when the loop's turn ends.
@Suite struct PostedMessageTests {
    private static func output(_ count: Int) -> OutputBuffer {
        let output = OutputBuffer()
        output.append(String(repeating: "x", count: count))
        return output
    }

    @Test(arguments: [(8192, 2048, true), (8193, 0, false), (0, 2049, false), (8193, 2049, false)])
    func `a long message is not posted`(head: Int, content: Int, isTaken: Bool) {
        let output = PostedMessageTests.output(head)
        let slice = ByteSlice([UInt8](repeating: 0x79, count: content))
        let message = PostedMessage(output, slice, until: .max)
        #expect((message != nil) == isTaken)
        #expect(output.count == (isTaken ? head + content : head))
    }

    @Test func `a message is sent when the kernel has accepted all of it`() throws {
        var message = try #require(
            PostedMessage(PostedMessageTests.output(5), ByteSlice("abc"), until: 7)
        )
        #expect(message.deadline == 7)
        message.sent(6)
        #expect(!message.isSent && message.offset == 6)
        message.sent(2)
        #expect(message.isSent)
    }
}

/// Tests of entries that are flushed at the end of the loop's turn.
@Suite struct FlushQueueTests {
    /// Flushes the whole queue; `during` may add entries.
    private func flush(
        _ queue: inout FlushQueue,
        during join: (inout FlushQueue, FlushEntry) -> Void = { _, _ in }
    ) -> [ObjectIdentifier] {
        var flushed: [ObjectIdentifier] = []
        while let entry = unsafe queue.takeNext() {
            unsafe entry._withUnsafeGuaranteedRef {
                flushed.append(ObjectIdentifier($0))
                join(&queue, $0)
            }
            unsafe entry.release()
        }
        return flushed
    }

    @Test func `entries are flushed in order and leave the queue empty`() {
        let entries = (0..<3).map { _ in FlushEntry() }
        var queue = FlushQueue()
        for entry in entries {
            let isDue = queue.add(entry)
            #expect(!isDue)
        }
        #expect(queue.count == 3)
        let flushed = flush(&queue)
        #expect(flushed == entries.map { ObjectIdentifier($0) })
        #expect(queue.count == 0 && !queue.isFlushing)
    }

    @Test func `the last work of a turn is flushed immediately`() {
        var queue = FlushQueue()
        let isDue = queue.addLast(FlushEntry())
        #expect(isDue)
        let flushed = flush(&queue)
        #expect(flushed.count == 1)
    }

    @Test func `a full queue is flushed immediately`() {
        var queue = FlushQueue()
        for _ in 1..<FlushQueue.limit {
            let isDue = queue.add(FlushEntry())
            #expect(!isDue)
        }
        let isDue = queue.add(FlushEntry())
        #expect(isDue)
        let flushed = flush(&queue)
        #expect(flushed.count == FlushQueue.limit)
    }

    @Test func `an entry added during a flush is flushed with it`() {
        let (first, second) = (FlushEntry(), FlushEntry())
        var queue = FlushQueue()
        _ = queue.add(first)
        let flushed = flush(&queue) { queue, entry in
            guard entry === first else { return }
            let isFlushedAtOnce = queue.addLast(second)
            #expect(!isFlushedAtOnce)
        }
        #expect(flushed == [ObjectIdentifier(first), ObjectIdentifier(second)])
    }
}
