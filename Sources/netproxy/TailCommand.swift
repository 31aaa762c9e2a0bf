import ArgumentParser
import Glibc
import ProxyConfig
import ProxyDaemon
import RequestLog
import System

extension CurlCommand.Place {
    fileprivate init(_ placement: CredentialPlacement) {
        self =
            switch placement {
            case .header(let name, let prefix): .field(name: name, prefix: prefix)
            case .query(let name, _): .parameter(name)
            case .path: .path
            }
    }
}

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
                // A year alone is rather a number without its unit.
                if since.count >= "2026-11-23".count { return [try .since(since)] }
            } catch {}
            throw ValidationError(
                "--since: expected 90s, 10m, 24h, 7d, or a time such as 2026-11-23T09:30, found '\(since)'"
            )
        }
    }

    /// A duration, also in days.
    private static func age(_ text: String) -> Duration? {
        guard text.hasSuffix("d"), let hours = DurationText.parse(text.dropLast() + "h") else {
            return DurationText.parse(text)
        }
        return hours * 24
    }

    func run() async throws {
        let configuration = try file.glance(trusting: "log", "state")
        let settings = configuration.log
        guard settings.output == .file else {
            let advice =
                settings.output == .journal
                ? "journalctl -t netproxy shows it" : "it is in the daemon's output"
            try StandardError.fail(
                """
                log.output: \(settings.output) writes no log files: \(advice), and GET /tail on the admin \
                socket streams new lines
                """
            )
        }
        guard settings.format == .json || settings.format == .logfmt else {
            try StandardError.fail(
                """
                log.format: tail reads json and logfmt, not \(settings.format). GET /tail on the admin \
                socket streams JSON in every format
                """
            )
        }
        var tail: LogTail
        let missing: [String]
        do {
            tail = try LogTail(directory: settings.directory, channels: channels, filter: filter)
            missing = try tail.missing
        } catch {
            let words = TailCommand.words(error)
            try StandardError.fail("the logs in \(settings.directory) cannot be read: \(words)")
        }
        // The log of a removed channel may still be there.
        try configuration.require(missing.filter { $0 != LogDirectory.ownLog })
        if tail.isEmpty {
            StandardError.write("netproxy: there is no log in \(settings.directory) yet")
        }
        for name in missing { StandardError.write("netproxy: \(name) has no log yet") }
        var printer = LogPrinter(
            printed(configuration),
            wholeQueries: Set(
                configuration.channels.filter { $0.log.query == .full }.map(\.name)
            ),
            places: Dictionary(
                configuration.channels.compactMap { channel in
                    channel.placement.map { (channel.name, CurlCommand.Place($0)) }
                }
            ) { first, _ in first }
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

    private static let denied =
        "permission denied; run this as a user of the daemon's group, or as root"

    private static func words(_ error: any Error) -> String {
        (error as? FileError)?.isForbidden == true ? denied : "\(error)"
    }

    private func printed(_ configuration: ProxyConfiguration) -> LogPrinter.Rendering {
        switch rendering {
        case .har: .archive(version: Version.number)
        case .curl: .curl(Entrances(configuration))
        case .upstreamCurl: .upstreamCurl
        case nil:
            json
                ? .json
                : .human(
                    Terminal.style,
                    HumanLine.Layout(
                        width: StandardStream.output.columns,
                        channels: configuration.channels.map(\.name)
                    )
                )
        }
    }
}
