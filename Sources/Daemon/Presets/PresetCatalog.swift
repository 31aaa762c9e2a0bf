import NetproxyBytes
import NetproxyYAML

/// The providers in `config/presets.yaml`, which is embedded in the program.
///
/// A start reads only the names; a preset is parsed when it is used.
package enum PresetCatalog {
    /// The names, in the order of the file.
    package static let names: [String] = sections.map(\.name)

    /// Returns the preset with a name.
    package static func preset(named name: String) -> ProviderPreset? {
        guard let section = sections.first(where: { $0.name == name }) else { return nil }
        do throws(ProviderPreset.Malformed) {
            return try parsed(section)
        } catch {
            // Unreachable: a test parses every preset of the embedded file.
            fatalError("presets.yaml: \(name): \(error.key)")
        }
    }

    /// Returns the sentence about a name that no preset has.
    package static func unknown(_ name: String) -> String {
        let nearest = NearestKey.likely(name, among: names).map { ", did you mean '\($0)'?" } ?? ";"
        return "there is no preset '\(name)'\(nearest) netproxy preset lists them"
    }

    /// A preset as text: the lines from its name to the next one.
    private struct Section: Sendable {
        let name: String
        var lines: [Substring]
    }

    private static let sections: [Section] = {
        var sections: [Section] = []
        let text = String(decoding: PackageResources.presets_yaml, as: UTF8.self)
        for line in text.split(separator: "\n", omittingEmptySubsequences: false)
        where !line.hasPrefix("#") {
            if let first = line.first, first != " ", line.hasSuffix(":") {
                sections.append(Section(name: String(line.dropLast()), lines: []))
            } else if !sections.isEmpty, !line.isEmpty {
                sections[sections.count - 1].lines.append(line)
            }
        }
        return sections
    }()

    private static func parsed(
        _ section: Section
    ) throws(ProviderPreset.Malformed) -> ProviderPreset {
        let text = section.lines.joined(separator: "\n") + "\n"
        var composer = YAMLComposer(Array(text.utf8), depthLimit: 16)
        let document: YAMLNode?
        do throws(YAMLFault) { document = try composer.document() } catch {
            throw ProviderPreset.Malformed(error.message)
        }
        guard let document else { throw ProviderPreset.Malformed("title") }
        return try ProviderPreset(
            name: section.name,
            node: document,
            channelText: channel(of: section)
        )
    }

    /// Returns the lines below `channel:`, without their common indentation.
    private static func channel(of section: Section) -> String {
        section.lines.drop { $0 != "  channel:" }.dropFirst()
            .prefix { $0.hasPrefix("    ") }
            .map { $0.dropFirst(4) }
            .joined(separator: "\n")
    }
}
