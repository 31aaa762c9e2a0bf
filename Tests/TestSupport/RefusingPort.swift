/// A port of this machine on which nobody listens.
package enum RefusingPort {
    /// The port of tcpmux, which nobody serves and which the system gives to nobody who asks for any:
    /// one that was free a moment ago may be another test's by now.
    package static func any() -> Int { 1 }
}
