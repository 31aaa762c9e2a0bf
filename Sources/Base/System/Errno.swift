import Glibc

/// Returns the error number of the system call on the preceding line.
package func systemError() -> Int32 { unsafe __errno_location().pointee }

/// Returns the system's message for an error number.
package func describe(errno code: Int32) -> String {
    unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
}
