import Glibc

/// The error number of the system call on the line before.
package func systemError() -> Int32 { unsafe __errno_location().pointee }

/// The system's text for an error number.
package func describe(errno code: Int32) -> String {
    unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
}
