import CLibevent
import Glibc

/// The error number of the system call on the line before.
@inline(__always)
func systemError() -> Int32 { unsafe __errno_location().pointee }

/// What the system calls an error number.
func describe(errno code: Int32) -> String {
    unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
}
