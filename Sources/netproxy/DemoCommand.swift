import ArgumentParser
import ProxyDaemon

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Try it: an API, an authorization server and the proxy, in one process."
    )

    @Option(
        help: """
            The port of the proxy on 127.0.0.1; 0 lets the system choose. (default: 8080, or 0 with \
            --once)
            """
    )
    var port: UInt16?

    @Flag(help: "Run a scripted tour through the proxy; exit 0 only if every step succeeds.")
    var once = false

    func run() async throws {
        do {
            let demo = try await Demo(
                port: port ?? (once ? 0 : 8080),
                console: once ? .off : Terminal.console,
                report: { StandardError.report("netproxy: \($0)") }
            )
            if once { try await tour(demo) } else { try await serve(demo) }
        } catch let code as ExitCode {
            throw code
        } catch {
            try StandardError.fail("\(error)")
        }
    }

    private func tour(_ demo: Demo) async throws {
        let address = try await demo.start(handlesSignals: false)
        let succeeded = try await DemoTour(demo, at: address) { StandardOutput.tell($0) }.run()
        await demo.stop()
        StandardOutput.tell(succeeded ? "all steps succeeded" : "the tour ended early")
        if !succeeded { throw ExitCode.failure }
    }

    private func serve(_ demo: Demo) async throws {
        let address = try await demo.start(handlesSignals: true)
        StandardOutput.tell(
            """
            An API that requires tokens, its authorization server, and netproxy at http://\(address).

            The configuration it runs with:

            \(indented(demo.configurationText))
            Paste into another terminal:

              curl http://\(address)/public/hello            # no credential needed
              curl 'http://\(address)/orders/42?x=1'         # netproxy adds headers and a token
              curl -X POST http://\(address)/orders/revoke   # the API revokes every token
              curl -d @/etc/services http://\(address)/orders/import   # 401, refresh, sent again
              curl -N http://\(address)/orders/stream        # an event stream
              curl http://\(address)/nowhere                 # an error that says what to do

            One line per exchange follows. Stop with Ctrl-C.

            """
        )
        await demo.waitUntilStopped()
    }

    private func indented(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.isEmpty ? "" : "  \($0)" }.joined(separator: "\n")
    }
}
