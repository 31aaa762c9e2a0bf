import Glibc

/// The names of this machine's groups.
package enum GroupName {
    /// The name of a group; its id if it has none.
    package static func of(_ id: UInt32) -> String {
        // The names of the members are in it as well: a larger group than fits is shown by its id.
        var buffer = [CChar](repeating: 0, count: 65_536)
        let name: String? = unsafe buffer.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return nil }
            var entry = unsafe group()
            var found: UnsafeMutablePointer<group>?
            // SAFETY: entry, buffer and result outlive the call; the name is copied below, while the
            // buffer that holds it is still there.
            guard unsafe getgrgid_r(id, &entry, base, buffer.count, &found) == 0,
                unsafe found != nil, let name = unsafe entry.gr_name
            else { return nil }
            return unsafe String(cString: name)
        }
        return name ?? "\(id)"
    }
}
