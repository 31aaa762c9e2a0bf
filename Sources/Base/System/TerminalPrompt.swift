import Glibc

/// Asks the user at the terminal, also if the standard streams lead elsewhere.
package enum TerminalPrompt {
    /// Whether typed characters are shown.
    package enum Echo: Sendable {
        case shown, hidden
    }

    package enum Answer: Sendable, Equatable {
        case line(String)
        /// The user pressed Ctrl-C or Ctrl-D.
        case canceled
        /// The process has no terminal, or its input comes from elsewhere.
        case noTerminal
    }

    /// Prints a question and reads a line.
    ///
    /// A signal key arrives as a character, so that the terminal is restored in any case.
    package static func ask(_ question: String, _ echo: Echo) -> Answer {
        guard isatty(STDIN_FILENO) == 1 else { return .noTerminal }
        let terminal = openFile("/dev/tty", O_RDWR | O_NOCTTY)
        guard terminal >= 0 else { return .noTerminal }
        defer { _ = close(terminal) }
        var usual = termios()
        // SAFETY: the structure is valid during the call.
        guard unsafe tcgetattr(terminal, &usual) == 0 else { return .noTerminal }
        var quiet = usual
        quiet.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        // SAFETY: the structures are valid during the calls.
        guard unsafe tcsetattr(terminal, TCSAFLUSH, &quiet) == 0 else { return .noTerminal }
        // SAFETY: the structure is valid during the call.
        defer { _ = unsafe tcsetattr(terminal, TCSAFLUSH, &usual) }
        show(Array(question.utf8), on: terminal)
        defer { show([UInt8(ascii: "\n")], on: terminal) }
        return line(from: terminal, echo)
    }

    private static func line(from terminal: Int32, _ echo: Echo) -> Answer {
        var line: [UInt8] = []
        while true {
            var byte: UInt8 = 0
            // SAFETY: the byte is valid during the call.
            let count = unsafe read(terminal, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { return .canceled }
            switch byte {
            case 0x03, 0x04: return .canceled
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
                return .line(String(decoding: line, as: UTF8.self))
            case 0x08, 0x7F:
                guard !line.isEmpty else { continue }
                // A character may have several bytes.
                while let last = line.popLast(), last & 0xC0 == 0x80 {}
                if echo == .shown { show(Array("\u{8} \u{8}".utf8), on: terminal) }
            case 0x15:
                line = []
            case 0..<0x20: continue
            default:
                line.append(byte)
                if echo == .shown { show([byte], on: terminal) }
            }
        }
    }

    private static func show(_ bytes: [UInt8], on terminal: Int32) {
        // SAFETY: the array is valid during the call and passed with its own length. A terminal that takes
        // only a part of a question is gone.
        _ = unsafe write(terminal, bytes, bytes.count)
    }
}
