/// What the configuration may write in place of a host: a name, `*.suffix` or `*`.
enum HostPattern {
    /// Whether the pattern stands for the host, both in lower case.
    ///
    /// `*.a.example` stands for every name below `a.example`, however deep, not for itself.
    static func matches(_ pattern: String, _ host: String) -> Bool {
        if pattern == "*" { return true }
        if pattern.hasPrefix("*.") { return host.hasSuffix(pattern.dropFirst()) }
        return pattern == host
    }
}
