import EventIO

/// The version of netproxy, and the system libraries that the daemon runs on.
package enum LibraryVersions {
    /// That of netproxy itself.
    package static let ownVersion = "0.1.0"

    /// One line each, with the version that is loaded.
    package static var versions: String {
        "libevent \(EventLoop.libraryVersion)\n\(TLSContext.libraryVersion)"
    }
}
