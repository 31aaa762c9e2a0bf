/// Adds the channels and defaults of the included files to those of the main file.
struct Inclusion {
    let reading: Reading
    let files: IncludedFiles

    /// Returns the main file's map with all included entries; reports and omits values that must be maps but
    /// are not.
    func merged(into root: ConfigNode) -> ConfigNode {
        guard let include = root.child(RootKeys.table.keys.include.name), include.text != "off"
        else {
            return root
        }
        var seen: Set<String> = [reading.files[0]]
        var root = root
        for item in include.items ?? [include] {
            guard let pattern = item.text, TextRules.isPlain(pattern) else {
                reading.report(
                    "expected a path or a pattern such as conf.d/*.yaml, found \(item.found)",
                    at: item
                )
                continue
            }
            let directory = pattern.split(separator: "/").dropLast()
            guard !directory.contains(where: { $0.contains("*") }) else {
                reading.report("only the last part of a path may contain *", at: item)
                continue
            }
            for path in IncludedFiles.paths(pattern, of: reading.files[0])
            where seen.insert(path).inserted {
                if let map = map(of: path) { root = added(map, to: root) }
            }
        }
        return root
    }

    /// Parses a file, or returns `nil` if it is empty or if parsing fails, which is reported.
    private func map(of path: String) -> ConfigNode? {
        let source = reading.add(file: path)
        var yaml = YAMLText(file: path, source: source)
        defer { reading.add(yaml.duplicates) }
        do throws(ConfigurationErrors) {
            let text = try YAMLText.text(of: try files.read(path), file: path)
            do throws(ConfigurationError) {
                return try yaml.parse(text)
            } catch {
                reading.add([error])
            }
        } catch {
            reading.add(error.errors)
        }
        return nil
    }

    private func added(_ map: ConfigNode, to root: ConfigNode) -> ConfigNode {
        // The section reports other keys, and a value that is not a map.
        let section = Section<IncludedKeys>(map, path: "", position: map.position, in: reading)
        var root = root
        for key in IncludedKeys.table.names {
            guard let value = section.slot(key).node else { continue }
            guard value.entries != nil else {
                reading.report("expected a map, found \(value.kind)", at: value)
                continue
            }
            let present = root.child(key)
            root = root.replacing(
                key,
                with: present.map {
                    united(
                        $0,
                        with: value,
                        depth: key == IncludedKeys.table.keys.defaults.name ? .max : 1
                    )
                }
                    ?? value
            )
        }
        return root
    }

    /// Returns the entries of both maps; a common key is an error, unless its values are maps above this
    /// depth.
    private func united(_ first: ConfigNode, with second: ConfigNode, depth: Int) -> ConfigNode {
        guard var entries = first.entries, let others = second.entries else { return first }
        for other in others {
            guard let index = entries.firstIndex(where: { $0.key == other.key }) else {
                entries.append(other)
                continue
            }
            let present = entries[index]
            if depth > 1, present.value.entries != nil, other.value.entries != nil {
                entries[index] = ConfigNode.Entry(
                    key: present.key,
                    keyPosition: present.keyPosition,
                    value: united(present.value, with: other.value, depth: depth - 1)
                )
            } else {
                let place = present.keyPosition
                reading.report(
                    "already in \(reading.files[place.source]):\(place.line):\(place.column)",
                    at: other.place
                )
            }
        }
        return first.with(entries)
    }
}

extension ConfigNode {
    fileprivate func with(_ entries: [Entry]) -> ConfigNode {
        ConfigNode(
            content: .map(entries),
            path: path,
            position: position,
            keyPosition: keyPosition
        )
    }

    /// Returns the map with another value for a key.
    fileprivate func replacing(_ key: String, with value: ConfigNode) -> ConfigNode {
        var entries = entries ?? []
        entries.removeAll { $0.key == key }
        entries.append(Entry(key: key, keyPosition: value.keyPosition, value: value))
        return with(entries)
    }
}
