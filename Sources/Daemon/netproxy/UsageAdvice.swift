import ArgumentParser
import NetproxyBytes

/// Advice for command lines that the argument parser would only reject.
enum UsageAdvice {
    /// Returns the reason to reject a command line, with a correction, or `nil` to accept it.
    static func refusal(of words: [String]) -> String? {
        // Options of the program itself, and requests of completion scripts.
        guard let first = words.first, !first.hasPrefix("-") else { return nil }
        let names = Netproxy.configuration.subcommands.compactMap {
            $0.configuration.commandName
        }
        guard names.contains(first) || first == "help" else {
            let nearest = NearestKey.likely(first, among: names).map { ", did you mean '\($0)'?" }
            return "there is no command '\(first)'\(nearest ?? "; netproxy --help lists them")"
        }
        return first == "exec" ? missingTerminator(in: words) : nil
    }

    /// Returns the correction for a program after `exec` without a preceding `--`.
    private static func missingTerminator(in words: [String]) -> String? {
        var index = 1
        while index < words.count, words[index].hasPrefix("-") {
            let word = words[index]
            if ["--", "-h", "--help"].contains(word) { return nil }
            // An option and its value.
            index += ["--channel", "--config", "--as", "--with", "--set"].contains(word) ? 2 : 1
        }
        guard index < words.count else { return nil }
        let (options, program) = (words[..<index], words[index...])
        return "put -- before the program: netproxy "
            + (options + ["--"] + program).joined(separator: " ")
    }

    /// Returns the command line for the parser: many programs print their version for `-v`.
    static func arguments(_ words: [String]) -> [String] {
        words == ["-v"] ? ["--version"] : words
    }
}
