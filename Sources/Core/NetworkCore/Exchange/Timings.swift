/// The durations of the phases of an attempt, in whole nanoseconds; `nil` for a phase that did not occur.
public struct Timings: Sendable {
    /// The time spent waiting for a connection from the pool.
    public var queue: Duration? {
        get { queueTime.value }
        set { queueTime.value = newValue }
    }
    /// The duration of the name resolution.
    public var dns: Duration? {
        get { dnsTime.value }
        set { dnsTime.value = newValue }
    }
    /// The duration of the connect.
    public var connect: Duration? {
        get { connectTime.value }
        set { connectTime.value = newValue }
    }
    /// The duration of the TLS handshake.
    public var tls: Duration? {
        get { tlsTime.value }
        set { tlsTime.value = newValue }
    }
    /// The time from sending the request on an established connection to the head of the response.
    public var firstByte: Duration? {
        get { firstByteTime.value }
        set { firstByteTime.value = newValue }
    }

    private var queueTime = MeasuredTime()
    private var dnsTime = MeasuredTime()
    private var connectTime = MeasuredTime()
    private var tlsTime = MeasuredTime()
    private var firstByteTime = MeasuredTime()

    /// Creates timings without any phase.
    public init() {}
}

/// An optional time in eight bytes; a `Duration?` takes 32, and each request in flight has six.
struct MeasuredTime: Sendable {
    private var nanoseconds = MeasuredTime.none

    private static let none = Int64.min

    /// The time in whole nanoseconds; `nil` if it was not measured.
    var value: Duration? {
        get {
            guard nanoseconds != MeasuredTime.none else { return nil }
            return Duration(attoseconds: Int128(nanoseconds) &* 1_000_000_000)
        }
        set {
            guard let attoseconds = newValue?.attoseconds else {
                nanoseconds = MeasuredTime.none
                return
            }
            // Up to 9 s fit into 64 bits, whose division costs a tenth of the 128-bit one.
            if let small = Int64(exactly: attoseconds) {
                nanoseconds = small / 1_000_000_000
            } else {
                let bounds = Int128(-Int64.max)...Int128(Int64.max)
                let whole = attoseconds / 1_000_000_000
                nanoseconds = Int64(min(max(whole, bounds.lowerBound), bounds.upperBound))
            }
        }
    }
}

extension Timings: CustomStringConvertible {
    /// The phases that occurred, such as `connect 0.5 ms, first byte 12.25 ms`.
    public var description: String {
        let phases = [
            ("queue", queue), ("dns", dns), ("connect", connect), ("tls", tls),
            ("first byte", firstByte),
        ]
        let words = phases.compactMap { name, time in
            time.map {
                "\(name) \(Double($0.components.attoseconds / 1_000_000_000_000) / 1000 + Double($0.components.seconds) * 1000) ms"
            }
        }
        return words.joined(separator: ", ")
    }
}
