import NetproxyEventIO

/// The version of netproxy, and the system libraries that the daemon runs on.
package enum LibraryVersions {
    /// The version of netproxy itself.
    package static let ownVersion = "0.1.0"

    /// One line for each library, with the version that is loaded.
    package static var versions: String {
        "libevent \(EventLoop.libraryVersion)\n\(TLSContext.libraryVersion)"
    }
}
