import ArgumentParser
import ProxyDaemon

/// The version of the program and of the libraries it runs on.
enum Version {
    static let number = LibraryVersions.ownVersion
    static let text = "netproxy \(number)\n\(LibraryVersions.versions)"
}

struct VersionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "version",
        abstract: "Print the versions of netproxy, libevent and OpenSSL."
    )

    func run() throws {
        try StandardOutput.write(Version.text)
    }
}
