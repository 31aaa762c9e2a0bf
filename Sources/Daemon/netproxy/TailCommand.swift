import ArgumentParser
import Glibc
import NetproxyCommands
import NetproxyConfig
import NetproxyPath
import NetproxyRequestLog
import NetproxyService
import NetproxySettings
import NetproxySystem

struct TailCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tail",
        abstract: "Show the request log, newest last.",
        discussion: """
            Reads the log files, in the formats json and logfmt, with or without a running daemon. \
            --where keeps the lines that satisfy every condition: status>=400, duration_ms>250, \
            method=POST, path~/v1/, channel!=a, auth.wait_ms>0. ~ matches a part of the text, == is \
            =, and a key alone (error) matches lines that have it. target is the path that the app \
            asked for, and the one shown; path is the one sent upstream. A line that is not 2xx ends \
            with the id for netproxy why. Times are in UTC, as in the files.
            """
    )

    enum Rendering: String, ExpressibleByArgument, CaseIterable {
        case curl, har
        case upstreamCurl = "curl-upstream"
    }

    @OptionGroup var file: ConfigurationOption
    @Argument(help: "Only these channels.", completion: .channels) var channels: [String] = []
    @Flag(name: [.customShort("f"), .customLong("follow")], help: "Keep following new lines.")
    var follow = false
    @Option(
        name: .customShort("n", allowingJoined: true),
        help: "Lines to show first (default 10; all with --since)."
    )
    var count: Int?
    @Option(
        help:
            "Only entries newer than this: 90s, 10m, 24h, 7d, or a UTC time such as 2026-11-23T09:30."
    )
    var since: String?
    @Option(name: .customLong("where"), help: "Only lines that satisfy this; may be repeated.")
    var conditions: [String] = []
    @Flag(help: "Print complete lines as JSON.") var json = false
    @Option(
        name: .customLong("as"),
        help: "Print curl commands, to netproxy or to the upstream, or an HTTP archive."
    )
    var rendering: Rendering?

    func validate() throws {
        guard count ?? 0 >= 0 else {
            throw ValidationError("-n must be ≥ 0")
        }
        if json, let rendering {
            throw ValidationError("--json cannot be combined with --as \(rendering.rawValue)")
        }
        if follow, rendering == .har {
            throw ValidationError("--as har cannot be combined with -f: an HTTP archive must end")
        }
        _ = try filter
    }

    /// The conditions for a line; with --as, only exchanges.
    private var filter: [WhereExpression] {
        get throws {
            let own: [String] = rendering == nil ? [] : ["event=exchange"]
            let asked = try (own + conditions).map { (text: String) in
                do {
                    return try WhereExpression(text)
                } catch {
                    throw ValidationError("--where \(text): \(error)")
                }
            }
            return try beginning + asked
        }
    }

    /// The condition of `--since`.
    private var beginning: [WhereExpression] {
        get throws {
            guard let since else { return [] }
            do {
                if let age = TailCommand.age(since) { return [try .youngerThan(age)] }
                // A year alone is more likely a number without its unit.
                if since.count >= "2026-11-23".count { return [try .since(since)] }
            } catch {}
            throw ValidationError(
                "--since: expected 90s, 10m, 24h, 7d, or a time such as 2026-11-23T09:30, found '\(since)'"
            )
        }
    }

    /// Parses a duration, also in days.
    private static func age(_ text: String) -> Duration? {
        guard text.hasSuffix("d"), let hours = DurationText.parse(text.dropLast() + "h") else {
            return DurationText.parse(text)
        }
        return hours * 24
    }

    func run() async throws {
        let source = try await source()
        guard source.output == .file else {
            let advice =
                source.output == .journal
                ? "journalctl -t netproxy shows it" : "it is in the daemon's output"
            try StandardError.fail(
                """
                log.output: \(source.output) writes no log files: \(advice), and GET /tail on the admin \
                socket streams new lines
                """
            )
        }
        guard source.format == .json || source.format == .logfmt else {
            try StandardError.fail(
                """
                log.format: tail reads json and logfmt, not \(source.format). GET /tail on the admin \
                socket streams JSON in every format
                """
            )
        }
        var tail: LogTail
        let missing: [String]
        do {
            tail = try LogTail(directory: source.directory, channels: channels, filter: filter)
            missing = try tail.missing
        } catch {
            let words = TailCommand.words(error, source.directory)
            try StandardError.fail("the logs in \(source.directory) cannot be read: \(words)")
        }
        // The log of a removed channel may still exist. Without the daemon, no channel is known.
        if !source.channels.isEmpty {
            let unknown = missing.filter { $0 != LogLabels.ownLog }
            try UnknownChannel.require(unknown, source.channels)
        }
        if tail.isEmpty {
            StandardError.write("netproxy: there is no log in \(source.directory) yet")
        }
        for name in missing { StandardError.write("netproxy: \(name) has no log yet") }
        var printer = LogPrinter(
            printed(source),
            wholeQueries: source.wholeQueries,
            places: source.places,
            notations: CredentialKinds.notations
        )
        let first = count ?? (since == nil ? 10 : .max)
        try StandardOutput.write(bytes: printer.render(try tail.last(first)))
        if follow {
            try await tail.follow {
                try await Task.sleep(for: .milliseconds(200))
            } show: {
                try StandardOutput.write(bytes: printer.render($0))
            }
        }
        try StandardOutput.write(bytes: printer.end())
    }

    /// Returns the location of the log, from the configuration or, if this user cannot read it, from the
    /// daemon.
    private func source() async throws -> LogSource {
        guard file.isForbidden else {
            return LogSource(try file.glance(trusting: "log", "state"))
        }
        do {
            let client = AdminClient([.unix(ConfigurationLocator.service.socket)])
            if let source = LogSource(json: try await client.send(.log).text) { return source }
        } catch is AdminClient.Unreachable {
            // The log is readable without a daemon.
        }
        return LogSource(ofServiceIn: ConfigurationLocator.service.logs)
    }

    private static func words(_ error: any Error, _ directory: String) -> String {
        (error as? FileError)?.isForbidden == true
            ? DeniedAccess.sentence(about: directory) : "\(error)"
    }

    private func printed(_ source: LogSource) -> LogPrinter.Rendering {
        switch rendering {
        case .har: .archive(version: Version.number)
        case .curl: .curl(source.entrances)
        case .upstreamCurl: .upstreamCurl
        case nil:
            json
                ? .json
                : .human(
                    Terminal.style,
                    HumanLine.Layout(
                        width: StandardStream.output.columns,
                        channels: source.channels
                    )
                )
        }
    }
}
