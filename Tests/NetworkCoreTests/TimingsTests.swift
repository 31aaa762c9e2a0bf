import NetworkCore
import Testing

@Suite struct TimingsTests {
    @Test func `the description of timings lists only the measured phases`() {
        var timings = Timings()
        #expect("\(timings)" == "")
        timings.connect = .microseconds(500)
        timings.firstByte = .milliseconds(1012) + .microseconds(250)
        #expect("\(timings)" == "connect 0.5 ms, first byte 1012.25 ms")
    }
}
