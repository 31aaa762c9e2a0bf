import FoundationEssentials
package import NetproxyConfig
import NetproxyEventIO
package import NetproxyLiveObjects
import NetproxyService
import NetproxySystem
package import OriginTransport
import Synchronization

/// A complete daemon with its own ports and temporary directories.
package final class DaemonHarness: Sendable {
    /// The port on which it listens.
    package let port: Int
    /// The port of its admin interface; 0 for a unix socket.
    package let adminPort: Int
    private let daemon: Daemon
    /// The directory of its files; a story may add files.
    package let directory: String
    private let source: Box<String>
    private let reported: Box<[String]>
    private let loops: Box<[EventLoop]>
    private let manager: DatagramSocket

    /// Runs a story with a daemon that has these channels, and stops the daemon afterward.
    ///
    /// - Parameters:
    ///   - channels: the YAML below `channels:`, not indented.
    ///   - root: top-level YAML; `DIRECTORY` in it is replaced by the harness's directory.
    ///   - destinations: the allowed destinations for requests that name the host themselves.
    ///   - inherited: descriptors as passed by systemd, by name.
    ///   - bodyRate: the slowest accepted rate of request content; `nil` accepts any rate, since every client is
    ///     slow on a busy machine.
    ///   - story: receives the running daemon.
    /// - Throws: the error of the story, or of the daemon's start.
    package static func run(
        channels: String,
        root: String = "",
        destinations: DestinationPolicy = .world,
        inherited: [String: [Int32]] = [:],
        bodyRate: Int? = nil,
        _ story: (DaemonHarness) async throws -> Void
    ) async throws {
        guard !StoryTurns.hasTurn else {
            return try await tell(channels, root, destinations, inherited, bodyRate, story)
        }
        await StoryTurns.shared.take()
        do {
            try await StoryTurns.$hasTurn.withValue(true) {
                try await tell(channels, root, destinations, inherited, bodyRate, story)
            }
        } catch {
            await StoryTurns.shared.give()
            throw error
        }
        await StoryTurns.shared.give()
    }

    private static func tell(
        _ channels: String,
        _ root: String,
        _ destinations: DestinationPolicy,
        _ inherited: [String: [Int32]],
        _ bodyRate: Int?,
        _ story: (DaemonHarness) async throws -> Void
    ) async throws {
        let directory = FileManager.default.temporaryDirectory
            .appending(path: "netproxy-story-\(UInt64.random(in: 0 ... .max))").path()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let harness = try await DaemonHarness(
            directory,
            yaml(channels, root, directory),
            destinations,
            inherited,
            bodyRate
        )
        do {
            try await story(harness)
        } catch {
            await harness.stop()
            throw error
        }
        await harness.stop()
    }

    private init(
        _ directory: String,
        _ text: String,
        _ destinations: DestinationPolicy,
        _ inherited: [String: [Int32]],
        _ bodyRate: Int?
    ) async throws {
        self.directory = directory
        let source = Box(text)
        let reported = Box<[String]>([])
        self.source = source
        self.reported = reported
        try FileManager.default.createDirectory(
            atPath: directory,
            withIntermediateDirectories: true
        )
        manager = try DatagramSocket.receiving(at: "\(directory)/manager")
        let loops = Box<[EventLoop]>([])
        self.loops = loops
        var setup = DaemonSetup(
            report: { line in reported.value.withLock { $0.append(line) } },
            readConfiguration: { DaemonHarness.load(source.value.withLock { $0 }, in: directory) }
        )
        setup.environment = ["NOTIFY_SOCKET": "\(directory)/manager"]
        setup.inherited = InheritedSockets(descriptors: inherited)
        setup.destinations = destinations
        setup.bodyRate = bodyRate
        setup.makeLoop = { index in
            let loop = try EventLoop(index: index)
            loops.value.withLock { $0.append(loop) }
            return loop
        }
        daemon = Daemon(try DaemonHarness.load(text, in: directory).get(), setup)
        do {
            try await daemon.start(handlesSignals: false)
        } catch {
            await daemon.stop()
            throw error
        }
        port = await Int(daemon.addresses.first?.port ?? 0)
        adminPort = await Int(daemon.adminAddresses.compactMap(\.port).first ?? 0)
    }

    private static func yaml(_ channels: String, _ root: String, _ directory: String) -> String {
        let root = root.replacing("DIRECTORY", with: directory)
        let indented = channels.split(separator: "\n").map { "  \($0)" }.joined(separator: "\n")
        let defaults = [
            "listen: [127.0.0.1:0]", "admin: 127.0.0.1:0", "workers: 1",
            "state: \(directory)/state", "log: { directory: \(directory)/log }",
            "limits: { head_timeout: 1h }",
        ]
        // A key given by the story replaces the default.
        let own = root.split(separator: "\n").compactMap { $0.split(separator: ":").first }
        let lines = defaults.filter { !own.contains($0.prefix { $0 != ":" }) }
        return """
            \(lines.joined(separator: "\n"))
            \(root)
            channels:
            \(indented)

            """
    }

    private static func load(
        _ text: String,
        in directory: String
    ) -> Result<ProxyConfiguration, ConfigurationErrors> {
        // The part of the state that stays on the machine if the state is elsewhere.
        ConfigurationLoader.load(
            text: text,
            file: "story.yaml",
            environment: ["STATE_DIRECTORY": "\(directory)/state"]
        )
    }

    // MARK: - Acting

    /// Connects like a client.
    package func connect() async throws -> Wire {
        try await RawClient.connect(to: port)
    }

    /// Sends a request on a new connection and returns the response.
    package func exchange(
        _ request: String,
        _ content: RawContent = .asFramed
    ) async throws -> RawMessage {
        let app = try await RawClient.connect(to: port, sending: request)
        return try await app.message(content)
    }

    /// Connects to the admin interface, on its port or `DIRECTORY/admin.sock`, and sends the first bytes.
    package func admin(sending request: String) async throws -> Wire {
        if adminPort > 0 { return try await RawClient.connect(to: adminPort, sending: request) }
        return try await RawClient.connect(path: "\(directory)/admin.sock", sending: request)
    }

    /// Sends a request to the admin interface and returns the response.
    package func ask(_ request: String) async throws -> RawMessage {
        try await admin(sending: request).message()
    }

    /// Returns the current configuration, for commands that work without the daemon.
    package func configuration() throws -> ProxyConfiguration {
        try DaemonHarness.load(source.value.withLock { $0 }, in: directory).get()
    }

    /// Reloads with another configuration, as after SIGHUP, and returns the lines of the response.
    @discardableResult
    package func reload(channels: String, root: String = "") async -> [String] {
        let text = DaemonHarness.yaml(channels, root, directory)
        source.value.withLock { $0 = text }
        return switch await daemon.reload() {
        case .success(let lines): lines
        case .failure(let refusal): refusal.lines
        }
    }

    /// Changes the text of the configuration file; it takes effect with a reload.
    package func replaceConfiguration(with text: String) {
        source.value.withLock { $0 = text }
    }

    /// Waits until the service manager receives a status; earlier messages are discarded.
    package func tells(_ status: String) async -> Bool {
        await !message(with: "STATUS=\(status)").isEmpty
    }

    /// Waits until the service manager receives a line, and returns all lines of that message.
    ///
    /// Earlier messages are discarded.
    package func message(with line: String) async -> [String] {
        var found: [String] = []
        _ = await eventually {
            while found.isEmpty, let message = manager.receive() {
                let lines = String(decoding: message, as: UTF8.self).split(separator: "\n")
                if lines.contains(line[...]) { found = lines.map(String.init) }
            }
            return !found.isEmpty
        }
        return found
    }

    /// The ports on which it currently listens.
    package var ports: [Int] {
        get async {
            // ::1 has the same port as 127.0.0.1.
            await daemon.addresses.reduce(into: []) { ports, address in
                let port = Int(address.port ?? 0)
                if !ports.contains(port) { ports.append(port) }
            }
        }
    }

    /// Returns the channels that a reload would change.
    package func plan() async throws -> [String] {
        try await daemon.plan().get()
    }

    /// Advances the daemon's clocks instead of waiting.
    package func advance(by duration: Duration) async {
        for loop in loops.value.withLock({ $0 }) {
            _ = await loop.call { $0.advance(by: duration) }
        }
    }

    /// Makes a census count the objects that the daemon's loops create from now on.
    package func count(in objects: LiveObjects) async {
        for loop in loops.value.withLock({ $0 }) {
            _ = await loop.call { _ in objects.observeThread() }
        }
    }

    /// Stops as after SIGTERM, unless it has already stopped.
    package func stop() async {
        await daemon.stop()
    }

    // MARK: - Observing

    /// The lines that the daemon reported.
    package var reports: [String] { reported.value.withLock { $0 } }

    /// Waits until a channel's log contains an exchange; the daemon keeps running.
    package func hasLoggedExchange(_ channel: String) async -> Bool {
        let path = "\(directory)/log/\(channel).log"
        return await eventually {
            let log = FileManager.default.contents(atPath: path) ?? Data()
            return String(decoding: log, as: UTF8.self).contains(#""event":"exchange""#)
        }
    }

    /// Stops, and returns the exchanges in a channel's log.
    package func log(_ channel: String) async throws -> [LogLine] {
        await stop()
        let path = "\(directory)/log/\(channel).log"
        guard let data = FileManager.default.contents(atPath: path) else { return [] }
        return try String(decoding: data, as: UTF8.self).split(separator: "\n").map {
            try LogLine(String($0))
        }
        .filter { $0.facts.event == "exchange" }
    }

    /// Stops, and returns the only line of a channel's log.
    package func onlyLine(_ channel: String) async throws -> LogLine {
        let lines = try await log(channel)
        guard lines.count == 1 else { throw HarnessError.lines(lines.map(\.text)) }
        return lines[0]
    }

    /// Stops, and returns the text of all log files.
    package func allLogs() async throws -> String {
        await stop()
        var text = ""
        for name in try FileManager.default.contentsOfDirectory(atPath: "\(directory)/log") {
            let data = FileManager.default.contents(atPath: "\(directory)/log/\(name)")
            text += String(decoding: data ?? Data(), as: UTF8.self)
        }
        return text
    }
}

/// The reason why a story cannot continue.
package enum HarnessError: Error {
    /// The log does not have exactly one line.
    case lines([String])
}

/// A mutable value shared with closures.
private final class Box<Value: Sendable>: Sendable {
    let value: Mutex<Value>

    init(_ value: Value) {
        self.value = Mutex(value)
    }
}
