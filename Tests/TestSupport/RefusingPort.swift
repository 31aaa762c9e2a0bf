/// A port of this machine that refuses connections.
package enum RefusingPort {
    /// The port of tcpmux, which is not in use and never assigned by the system; a port that was free a
    /// moment ago may belong to another test now.
    package static func any() -> Int { 1 }
}
