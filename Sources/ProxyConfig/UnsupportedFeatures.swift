/// What the configuration language has and this version does not do yet.
///
/// A key either works or is refused here. Whoever builds a feature deletes its line.
enum UnsupportedFeatures {
    private static let table: [Feature] = [
        Feature("channels.*.stub", when: .notOff)
    ]

    /// Reports the uses in the keys at the top.
    static func check(root: ConfigNode, in reading: Reading) {
        for feature in table where !feature.path.hasPrefix(channelPrefix) {
            feature.check(root, path: feature.path, in: reading)
        }
    }

    /// Reports the uses in a channel, or in the defaults.
    static func check(channel: ConfigNode, in reading: Reading) {
        for feature in table where feature.path.hasPrefix(channelPrefix) {
            feature.check(
                channel,
                path: String(feature.path.dropFirst(channelPrefix.count)),
                in: reading
            )
        }
    }

    private static let channelPrefix = "channels.*."

    private struct Feature {
        let path: String
        let use: Use

        enum Use {
            case notEmpty
            case notOff
            case oneOf([String])
        }

        init(_ path: String, when use: Use) {
            self.path = path
            self.use = use
        }

        func check(_ root: ConfigNode, path: String, in reading: Reading) {
            var node = root
            for key in path.split(separator: ".") {
                guard let child = node.child(String(key)) else { return }
                node = child
            }
            switch use {
            case .notEmpty where node.items?.isEmpty != true,
                .notOff where node.text != "off":
                reading.report("not supported yet by this version", at: node)
            case .oneOf(let values):
                guard let text = node.text, values.contains(text) else { return }
                reading.report("'\(text)' is not supported yet by this version", at: node)
            default: break
            }
        }
    }
}
