import Bytes
import HTTP1
import HTTPMessage
import NetworkCore
import RequestLog

/// What one loop remembers of the exchanges that ended, for `netproxy why`.
///
/// The last 1024 exchanges and the last 256 that were not plain successes, with at most 512 KiB and
/// 256 KiB of log lines: whatever is known of an exchange is in its line, so that remembering it
/// is one copy; what the line has not is in a note of a few words.
///
/// Not `Sendable`.
final class RecentExchanges {
    /// What the line of an exchange does not say.
    struct Note {
        /// What its channel was made of; the channel itself may be gone.
        var channel: ChannelShared?
        var rule: RoutingRule?
        /// The known fields of the app's request.
        var fields = KnownFieldSet.none
        /// Those of the request that was made of it; none if none was made.
        var forwarded = KnownFieldSet.none
        /// Which of the channel's rare fields it had.
        var rareFields: UInt64 = 0
        var more: More?
    }

    /// What only an exchange has in which something happened.
    final class More {
        let earlierAttempts: [AttemptFacts]

        init(earlierAttempts: [AttemptFacts]) {
            self.earlierAttempts = earlierAttempts
        }
    }

    /// Takes the line of each exchange, just before its note.
    let lines = LineRing(lines: 1024, bytes: 512 * 1024)
    private let remarkable = LineRing(lines: 256, bytes: 256 * 1024)
    private var notes = [Note](repeating: Note(), count: 1024)
    private var remarkableNotes = [Note](repeating: Note(), count: 256)

    /// Remembers what the line that was kept last does not say.
    func note(_ exchange: inout Exchange) {
        var note = Note(channel: exchange.channel?.shared, rule: exchange.rule)
        note.fields = exchange.fields
        note.forwarded = exchange.forwarded
        note.rareFields = exchange.rareFields
        let number = lines.nextNumber - 1
        if exchange.record.level != .info {
            let earlier = exchange.record.context.earlierAttempts
            if !earlier.isEmpty { note.more = More(earlierAttempts: earlier) }
            // Otherwise a minute of successes would push out what somebody wants to know.
            let copy = lines.withLine(number) { remarkable.append($0) }
            if let copy { remarkableNotes[copy % remarkable.lineLimit] = note }
        }
        notes[number % lines.lineLimit] = note
    }

    /// Whose id an exchange is looked for by.
    enum Key: String {
        /// Ours, which only one exchange has.
        case own = "request_id"
        /// An app's, which it may have given to many.
        case client = "client_request_id"
    }

    /// The youngest exchange with this id.
    func find(_ key: Key, _ id: String) -> RecentExchange? {
        let output = OutputBuffer(capacity: 64)
        output.append("\"")
        output.append(key.rawValue)
        output.append("\":\"")
        let keyLength = output.count
        output.append(escaped: id)
        output.append("\"")
        let member = Member(bytes: output.span.array, keyLength: keyLength)
        return find(member, lines, notes) ?? find(member, remarkable, remarkableNotes)
    }

    private func find(_ member: Member, _ ring: LineRing, _ notes: [Note]) -> RecentExchange? {
        for number in ring.numbers.reversed() {
            let line = ring.withLine(number) { line in member.isFirst(in: line) ? line.array : nil }
            guard let found = line ?? nil else { continue }
            return RecentExchange(line: found, notes[number % ring.lineLimit])
        }
        return nil
    }

    /// A member of a line's object, as it is written.
    private struct Member {
        let bytes: [UInt8]
        /// As far as the quotation mark in front of the value.
        let keyLength: Int

        /// Whether it is the line's first mention of its key, which is the line's own: behind it
        /// everything may be an app's words.
        func isFirst(in line: Span<UInt8>) -> Bool {
            guard line.count >= bytes.count else { return false }
            for start in 0...(line.count - bytes.count) {
                var matched = 0
                while matched < bytes.count, line[start + matched] == bytes[matched] {
                    matched += 1
                }
                if matched == bytes.count { return true }
                if matched >= keyLength { return false }
            }
            return false
        }
    }
}

/// An exchange that a loop remembered, on its way to whoever asks.
struct RecentExchange: Sendable {
    let line: [UInt8]
    let channel: ChannelShared?
    let rule: RoutingRule?
    let fields: KnownFieldSet
    let forwarded: KnownFieldSet
    let rareFields: UInt64
    let earlierAttempts: [AttemptFacts]

    init(line: [UInt8], _ note: RecentExchanges.Note) {
        self.line = line
        channel = note.channel
        rule = note.rule
        fields = note.fields
        forwarded = note.forwarded
        rareFields = note.rareFields
        earlierAttempts = note.more?.earlierAttempts ?? []
    }
}
