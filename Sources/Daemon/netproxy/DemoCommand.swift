import ArgumentParser
import FoundationEssentials
import NetproxyCommands
import NetproxyConfig
import NetproxyPath

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Try it: an API, an authorization server and the proxy, in one process."
    )

    /// The default port of the admin page, unless another program uses it.
    private static let page: UInt16 = 8081

    @Option(
        help: """
            The port of the proxy on 127.0.0.1; 0 lets the system choose. (default: 8080, or 0 with \
            --once)
            """
    )
    var port: UInt16?

    @Flag(help: "Print the configuration first; that of a running demo, if there is one.")
    var showConfig = false

    @Flag(help: "Run a scripted tour through the proxy; exit 0 only if every step succeeds.")
    var once = false

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        if showConfig, !once, let running = DemoDirectory.running(environment),
            let text = FileManager.default.contents(atPath: running)
        {
            return StandardOutput.tell(String(decoding: text, as: UTF8.self))
        }
        do {
            let directory =
                once ? try DemoDirectory.makeOwn(environment) : try DemoDirectory.make(environment)
            let demo = try await Demo(
                port: port ?? (once ? 0 : 8080),
                page: once ? 0 : DemoCommand.page,
                in: directory,
                console: once ? .off : Terminal.console,
                report: { StandardError.report("netproxy: \($0)") }
            )
            if once { try await tour(demo) } else { try await serve(demo, directory, environment) }
        } catch let code as ExitCode {
            throw code
        } catch {
            let advice =
                "\(error)".hasPrefix("cannot listen on") ? "; choose another with --port N" : ""
            try StandardError.fail("\(error)\(advice)")
        }
    }

    private func tour(_ demo: Demo) async throws {
        let address = try await demo.start(handlesSignals: false).proxy
        let succeeded = try await DemoTour(demo, at: address) { StandardOutput.tell($0) }.run()
        await demo.stop()
        StandardOutput.tell(succeeded ? "all steps succeeded" : "the tour ended early")
        if !succeeded { throw ExitCode.failure }
    }

    private func serve(
        _ demo: Demo,
        _ directory: DemoDirectory,
        _ environment: [String: String]
    ) async throws {
        let address = try await demo.start(handlesSignals: true)
        if showConfig { StandardOutput.tell(address.configuration) }
        let found = ConfigurationLocator.path(explicit: nil, environment: environment) {
            DemoDirectory.running(environment)
        }
        let preparation =
            found == directory.configuration
            ? "" : "\n  export NETPROXY_CONFIG=\(directory.configuration)"
        let proxy = "http://\(address.proxy)"
        StandardOutput.tell(
            """
            netproxy at \(proxy), in front of an API that requires tokens. Try in another terminal:

              curl \(proxy)/public/hello            # no credential needed
              curl '\(proxy)/orders/42?x=1'         # netproxy adds headers and a token
              curl -X POST \(proxy)/orders/revoke    # revokes every token
              curl -d @/etc/services \(proxy)/orders/import   # 401, retried
              curl -N \(proxy)/orders/stream        # an event stream
              curl -i \(proxy)/nowhere              # an error that says what to do
            \(preparation)
              netproxy tail    netproxy status    netproxy why    netproxy token orders

            The page: http://\(address.page)/    The configuration: netproxy demo --show-config
            One line per request follows. Stop with Ctrl-C.
            """
        )
        await demo.waitUntilStopped()
    }
}
