import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyRequestLog
import NetworkCore

/// The exchanges that ended on one loop lately, for `netproxy why`.
///
/// The last 1024 exchanges and the last 256 that were not plain successes, with at most 512 KiB and
/// 256 KiB of log lines. Most facts of an exchange are in its line, so that keeping it is one copy; the
/// rest is in a small note.
///
/// Not `Sendable`.
package final class RecentExchanges {
    /// The facts of an exchange that its line lacks.
    struct Note {
        /// The settings of its channel, which may be gone.
        var channel: ChannelRules?
        var rule: RoutingRule?
        /// The known fields of the app's request.
        var fields = KnownFieldSet.none
        /// The known fields of the upstream request; empty if none was made.
        var forwarded = KnownFieldSet.none
        /// Which of the channel's rule fields outside the table of known fields the request had, one bit each.
        var rareFields: UInt64 = 0
        /// Which fields of the response led past netproxy.
        var leads = LeadsAway()
        /// What the challenges of a 401 or 403 of the API say.
        var challenge: String?
        /// Whether the exchange went wrong.
        var isTroubled = false
        /// Kept in an object, because most exchanges have none.
        var earlierAttempts: EarlierAttempts?
    }

    /// The attempts of an exchange before its last.
    final class EarlierAttempts {
        let facts: [AttemptFacts]

        init(_ facts: [AttemptFacts]) {
            self.facts = facts
        }
    }

    /// Receives the line of each exchange just before its note.
    let lines = LineRing(lines: 1024, bytes: 512 * 1024)
    private let remarkable = LineRing(lines: 256, bytes: 256 * 1024)
    private var notes = [Note](repeating: Note(), count: 1024)
    private var remarkableNotes = [Note](repeating: Note(), count: 256)

    /// Adds a note to the line that was kept last, which is that of `record`.
    ///
    /// `inout`, although nothing changes: a borrowed record would be copied.
    func add(_ note: consuming Note, to record: inout ExchangeRecord) {
        note.isTroubled = record.isTroubled
        let number = lines.nextNumber - 1
        if record.level != .info {
            let earlier = record.context.earlierAttempts
            if !earlier.isEmpty { note.earlierAttempts = EarlierAttempts(earlier) }
            // Otherwise a minute of successes would displace the interesting ones.
            let copy = lines.withLine(number) { remarkable.append($0) }
            if let copy { remarkableNotes[copy % remarkable.lineLimit] = note }
        }
        let place = number % lines.lineLimit
        // Swapped, so that the end of the earlier note is no part of an access to the list.
        swap(&notes[place], &note)
    }

    /// Every remembered line, with its newline; some of them twice.
    package var everyLine: [UInt8] {
        var bytes: [UInt8] = []
        for ring in [remarkable, lines] {
            for number in ring.numbers { ring.withLine(number) { bytes.append($0) } }
        }
        return bytes
    }

    /// The id by which an exchange is found.
    package enum Key: String {
        /// netproxy's own, which is unique.
        case own = "request_id"
        /// The app's, which several exchanges may share.
        case client = "client_request_id"
    }

    /// The youngest exchange with this id.
    package func find(_ key: Key, _ id: String) -> RecentExchange? {
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

    /// The youngest exchange that went wrong, of a channel or of all.
    package func newestTroubled(in channel: String?) -> RecentExchange? {
        newestTroubled(channel, lines, notes)
            ?? newestTroubled(channel, remarkable, remarkableNotes)
    }

    private func newestTroubled(
        _ channel: String?,
        _ ring: LineRing,
        _ notes: [Note]
    ) -> RecentExchange? {
        for number in ring.numbers.reversed() {
            let note = notes[number % ring.lineLimit]
            guard note.isTroubled, channel == nil || note.channel?.name == channel,
                let line = ring.withLine(number, { $0.array })
            else { continue }
            return RecentExchange(line: line, note)
        }
        return nil
    }

    /// A member of a line's object, as it is written.
    private struct Member {
        let bytes: [UInt8]
        /// Up to the quotation mark before the value.
        let keyLength: Int

        /// Whether the line mentions the key for the first time here: that member is netproxy's own, while
        /// an app may have chosen the text that follows.
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

/// A remembered exchange, as another task may read it.
package struct RecentExchange: Sendable {
    package let line: [UInt8]
    let channel: ChannelRules?
    let rule: RoutingRule?
    let fields: KnownFieldSet
    let forwarded: KnownFieldSet
    let rareFields: UInt64
    let leads: LeadsAway
    let challenge: String?
    let earlierAttempts: [AttemptFacts]

    init(line: [UInt8], _ note: RecentExchanges.Note) {
        self.line = line
        channel = note.channel
        rule = note.rule
        fields = note.fields
        forwarded = note.forwarded
        rareFields = note.rareFields
        leads = note.leads
        challenge = note.challenge
        earlierAttempts = note.earlierAttempts?.facts ?? []
    }
}
