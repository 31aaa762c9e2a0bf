import Glibc
// The C struct timespec counts as this module's or as Glibc's, whichever the compiler loads first.
import SwiftOverlayShims

/// The resources that the process uses, as Prometheus' own client libraries report them.
package struct ProcessFigures: Sendable {
    /// Processor time so far, in user space and in the kernel, in seconds.
    package let cpuSeconds: Double
    /// Memory in use, in bytes; `nil` if `/proc` does not say.
    package let residentBytes: Int?
    /// Open descriptors; `nil` if `/proc` does not say.
    package let descriptors: Int?
    /// The largest number of descriptors.
    package let descriptorLimit: Int

    /// Measures this process; with many descriptors that takes milliseconds.
    package init() {
        cpuSeconds = Double(processorNanoseconds()) / 1_000_000_000
        residentBytes = ProcessFigures.residentBytes
        descriptors = ProcessFigures.descriptors
        descriptorLimit = DescriptorLimit.current
    }

    /// The second number of `/proc/self/statm`, which counts pages.
    private static var residentBytes: Int? {
        guard let file = try? ReadableFile(path: "/proc/self/statm"),
            let text = try? file.read(256, at: 0)
        else { return nil }
        let numbers = String(decoding: text, as: UTF8.self).split(separator: " ")
        guard numbers.count > 1, let pages = Int(numbers[1]) else { return nil }
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }

    private static var descriptors: Int? {
        // SAFETY: the directory is closed once, after its last use.
        guard let directory = unsafe opendir("/proc/self/fd") else { return nil }
        defer { unsafe closedir(directory) }
        var count = 0
        while unsafe readdir(directory) != nil { count += 1 }
        // Without `.`, `..` and the descriptor of the directory itself.
        return max(count - 3, 0)
    }
}

/// The processor time of the process, in nanoseconds.
private func processorNanoseconds() -> UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
