import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyRequestLog
import NetworkCore

/// The recent exchanges of one loop, for `netproxy why`.
///
/// A loop remembers the last 1024 exchanges and the last 256 that were not plain successes, with at most
/// 512 KiB and 256 KiB of log lines. Most facts of an exchange are in its line, so that remembering it
/// costs one copy; a small note contains the rest.
///
/// Not `Sendable`.
package final class RecentExchanges {
    /// The facts of an exchange that its line lacks.
    struct Note {
        /// The rules of the exchange's channel, which may no longer exist.
        var channel: ChannelRules?
        var rule: RoutingRule?
        /// The known fields of the client's request.
        var fields = KnownFieldSet.none
        /// The known fields of the upstream request; empty if there is none.
        var forwarded = KnownFieldSet.none
        /// The request's fields that only the channel's rules name, one bit each.
        var rareFields: UInt64 = 0
        /// The response fields that lead past netproxy.
        var leads = LeadsAway()
        /// The summary of the challenges in a 401 or 403 of the API.
        var challenge: String?
        /// The other fields with credentials that the client sent and that went upstream.
        var confidential: [HTTPFieldName] = []
        /// Whether the exchange failed.
        var isTroubled = false
        /// The earlier attempts, in an object, because most exchanges have none.
        var earlierAttempts: EarlierAttempts?
    }

    /// The attempts of an exchange before its last.
    final class EarlierAttempts {
        let facts: [AttemptFacts]

        init(_ facts: [AttemptFacts]) {
            self.facts = facts
        }
    }

    /// The lines of all exchanges; a line is added just before its note.
    let lines = LineRing(lines: 1024, bytes: 512 * 1024)
    private let remarkable = LineRing(lines: 256, bytes: 256 * 1024)
    private var notes = [Note](repeating: Note(), count: 1024)
    private var remarkableNotes = [Note](repeating: Note(), count: 256)

    /// Adds a note to the latest line, which is the line of `record`.
    ///
    /// The parameter is `inout`, although nothing changes, because a borrowed record would be copied.
    func add(_ note: consuming Note, to record: inout ExchangeRecord) {
        note.isTroubled = record.isTroubled
        let number = lines.nextNumber - 1
        if record.level != .info {
            let earlier = record.context.earlierAttempts
            if !earlier.isEmpty { note.earlierAttempts = EarlierAttempts(earlier) }
            // Otherwise a minute of successes would displace the interesting exchanges.
            let copy = lines.withLine(number) { remarkable.append($0) }
            if let copy { remarkableNotes[copy % remarkable.lineLimit] = note }
        }
        let place = number % lines.lineLimit
        // Swapped, so that the destruction of the earlier note is not part of an access to the list.
        swap(&notes[place], &note)
    }

    /// All remembered lines with their newlines; some lines occur twice.
    package var everyLine: [UInt8] {
        var bytes: [UInt8] = []
        for ring in [remarkable, lines] {
            for number in ring.numbers { ring.withLine(number) { bytes.append($0) } }
        }
        return bytes
    }

    /// The kind of id by which an exchange is found.
    package enum Key: String {
        /// netproxy's own id, which is unique.
        case own = "request_id"
        /// The client's id, which several exchanges may share.
        case client = "client_request_id"
    }

    /// Returns the latest exchange with an id.
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

    /// Returns the latest failed exchange of a channel, or of all channels.
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

    /// A member of a line's JSON object in its encoded form.
    private struct Member {
        let bytes: [UInt8]
        /// The length up to the quotation mark before the value.
        let keyLength: Int

        /// Whether the first occurrence of the key in the line has this value.
        ///
        /// The first occurrence is netproxy's own member, while a client may have chosen the text after
        /// it.
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

/// A copy of a remembered exchange that another task may read.
package struct RecentExchange: Sendable {
    package let line: [UInt8]
    let channel: ChannelRules?
    let rule: RoutingRule?
    let fields: KnownFieldSet
    let forwarded: KnownFieldSet
    let rareFields: UInt64
    let leads: LeadsAway
    let challenge: String?
    let confidential: [HTTPFieldName]
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
        confidential = note.confidential
        earlierAttempts = note.earlierAttempts?.facts ?? []
    }
}
