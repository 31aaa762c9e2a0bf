import Glibc
// The C struct timespec belongs to this module or to Glibc, depending on which the compiler loads first.
import SwiftOverlayShims

/// The resource usage of the process, as reported by Prometheus' own client libraries.
package struct ProcessFigures: Sendable {
    /// The total processor time in user space and in the kernel, in seconds.
    package let cpuSeconds: Double
    /// The memory in use, in bytes; `nil` if `/proc` is unavailable.
    package let residentBytes: Int?
    /// The number of open descriptors; `nil` if `/proc` is unavailable.
    package let descriptors: Int?
    /// The maximum number of descriptors.
    package let descriptorLimit: Int

    /// Measures this process, which takes milliseconds if it has many descriptors.
    package init() {
        cpuSeconds = Double(processorNanoseconds()) / 1_000_000_000
        residentBytes = ProcessFigures.residentBytes
        descriptors = ProcessFigures.descriptors
        descriptorLimit = DescriptorLimit.current
    }

    /// The resident memory: the second number of `/proc/self/statm`, which counts pages.
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
        // Subtract `.`, `..` and the descriptor of the directory itself.
        return max(count - 3, 0)
    }
}

/// Returns the processor time of the process, in nanoseconds.
private func processorNanoseconds() -> UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
