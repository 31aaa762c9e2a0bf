import FoundationEssentials
import NetproxyConfig
import NetproxyPresets
import NetproxySystem

/// Adds the channels of presets to a configuration, and writes their secrets to files beside it.
package struct SavedPresets {
    /// The reason for not saving; no file has been changed.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private let path: String
    private let environment: [String: String]

    /// Prepares to save.
    ///
    /// - Parameters:
    ///   - path: the configuration, which may be missing.
    ///   - environment: the variables that determine the default directories.
    package init(to path: String, environment: [String: String]) {
        self.path = URL(filePath: path).resolvingSymlinksInPath().path
        self.environment = environment
    }

    /// Saves the channels; new files have mode 0600.
    ///
    /// - Returns: the written files.
    package func save(_ presets: [PreparedPreset]) throws(Failure) -> [String] {
        let directory = String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex))
        let entries = presets.map { SavedChannel($0, keysIn: directory) }
        let lines = entries.flatMap(\.lines)
        let present = try existing(adding: presets)
        guard let text = ChannelInsertion.text(present, adding: lines), isValid(text) else {
            throw Failure(
                description: "cannot add to \(path); add below channels:\n"
                    + lines.joined(separator: "\n")
            )
        }
        let files = entries.flatMap(\.files)
        for file in files where FileManager.default.fileExists(atPath: file.path) {
            throw Failure(description: "\(file.path) exists already; nothing was saved")
        }
        do throws(FileError) {
            if !directory.isEmpty { try FileSystem.makeDirectory(directory, mode: 0o700) }
            for file in files {
                let content = Array("\(file.secret)\n".utf8)
                try FileDescriptor(file.path, .createPrivate).writeAll(content)
            }
            try write(text, replacing: present != nil)
        } catch {
            for file in files {
                // The error that stopped the saving is reported.
                try? FileManager.default.removeItem(atPath: file.path)
            }
            throw Failure(description: "cannot write \(path): \(error.reason)")
        }
        return [path] + files.map(\.path)
    }

    /// Returns the text of the configuration, which has no channel of these names; `nil` if it is missing.
    private func existing(adding presets: [PreparedPreset]) throws(Failure) -> String? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Failure(description: "cannot read \(path)")
        }
        let text = String(decoding: data, as: UTF8.self)
        guard case .success(let configuration) = loaded(text) else {
            throw Failure(description: "\(path) has errors; netproxy check shows them")
        }
        let names = Set(configuration.channels.map(\.name))
        for prepared in presets where names.contains(prepared.preset.name) {
            throw Failure(
                description:
                    "\(path) has a channel \(prepared.preset.name) already; nothing was saved"
            )
        }
        return text
    }

    private func loaded(_ text: String) -> Result<ProxyConfiguration, ConfigurationErrors> {
        ConfigurationLoader.load(text: text, file: path, environment: environment)
    }

    private func isValid(_ text: String) -> Bool {
        if case .success = loaded(text) { true } else { false }
    }

    private func write(_ text: String, replacing isPresent: Bool) throws(FileError) {
        guard isPresent else {
            return try FileDescriptor(path, .createPrivate).writeAll(Array(text.utf8))
        }
        let draft = "\(path).\(UInt32.random(in: .min ... .max))"
        let mode = try FileStatus.of(path: path).permissions
        do throws(FileError) {
            let file = try FileDescriptor(draft, .createPrivate)
            try file.writeAll(Array(text.utf8))
            try file.synchronize()
            // The new file keeps the mode of the old one.
            try? FileManager.default.setAttributes(
                [.posixPermissions: Int(mode)],
                ofItemAtPath: draft
            )
            try FileSystem.rename(draft, to: path)
        } catch {
            try? FileManager.default.removeItem(atPath: draft)
            throw error
        }
    }
}

/// A channel to save, and the files with its secrets.
private struct SavedChannel {
    let lines: [String]
    private(set) var files: [(path: String, secret: String)] = []

    init(_ prepared: PreparedPreset, keysIn directory: String) {
        var values: [(parameter: String, value: String)] = []
        for (parameter, value) in prepared.values {
            switch value {
            case .text(let text), .reference(let text): values.append((parameter.name, text))
            case .secret(let secret):
                let path = "\(directory)/\(prepared.preset.keyFile(of: parameter))"
                files.append((path, secret))
                values.append((parameter.name, "file:\(path)"))
            }
        }
        let upstream = prepared.upstream.map { "upstream: \(ProviderPreset.quoted($0))" }
        lines = prepared.preset.channelLines(with: values, keys: upstream.map { [$0] } ?? [])
    }
}

/// Inserts channels into the text of a configuration.
enum ChannelInsertion {
    /// Returns a configuration with further channels.
    ///
    /// - Parameters:
    ///   - text: the configuration; `nil` for a new one.
    ///   - added: the lines of the channels, indented by two spaces.
    /// - Returns: the text; `nil` if its `channels` are not a block.
    static func text(_ text: String?, adding added: [String]) -> String? {
        guard let text, !text.allSatisfy(\.isWhitespace) else {
            return (["channels:"] + added).joined(separator: "\n") + "\n"
        }
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard let index = lines.firstIndex(where: { $0.hasPrefix("channels:") }) else {
            let end = text.hasSuffix("\n") ? "" : "\n"
            return text + end + "\n" + (["channels:"] + added).joined(separator: "\n") + "\n"
        }
        let value = lines[index].dropFirst("channels:".count).drop { $0 == " " }
        guard value.isEmpty || value.hasPrefix("#") else { return nil }
        let first = lines[(index + 1)...].first { line in
            let content = line.drop { $0 == " " }
            return !content.isEmpty && !content.hasPrefix("#")
        }
        let indentation = String((first ?? "  ").prefix { $0 == " " })
        guard !indentation.isEmpty else { return nil }
        lines.insert(contentsOf: added.map { indentation + $0.dropFirst(2) }, at: index + 1)
        return lines.joined(separator: "\n")
    }
}
