import EventIO

/// The system libraries that the daemon runs on.
package enum Libraries {
    /// One line each, with the version that is loaded.
    package static var versions: String {
        "libevent \(libeventVersion)\n\(TLSContext.libraryVersion)"
    }
}
