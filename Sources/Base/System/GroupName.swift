import Glibc

/// The names of this machine's groups.
package enum GroupName {
    /// Returns the name of a group, or its ID if it has no name.
    package static func of(_ id: UInt32) -> String {
        // The buffer also receives the names of the members; a group that does not fit is represented by its
        // ID.
        var buffer = [CChar](repeating: 0, count: 65_536)
        let name: String? = unsafe buffer.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return nil }
            var entry = unsafe group()
            var found: UnsafeMutablePointer<group>?
            // SAFETY: entry, buffer and result outlive the call; the name is copied below while its buffer
            // still exists.
            guard unsafe getgrgid_r(id, &entry, base, buffer.count, &found) == 0,
                unsafe found != nil, let name = unsafe entry.gr_name
            else { return nil }
            return unsafe String(cString: name)
        }
        return name ?? "\(id)"
    }
}
