/// Finds the key that a mistyped one was meant to be.
package enum NearestKey {
    /// The known key with the smallest edit distance; the first of several.
    package static func of(_ key: String, among known: [String]) -> String? {
        known.map { ($0, distance(Array(key.utf8), Array($0.utf8))) }.min { $0.1 < $1.1 }?.0
    }

    /// The same, but only if most of its letters are in place: of two keys that share little, neither was
    /// meant to be the other.
    package static func likely(_ key: String, among known: [String]) -> String? {
        guard let nearest = of(key, among: known) else { return nil }
        // Two letters that changed places count twice.
        let limit = (key.utf8.count + 1) * 2 / 5
        return distance(Array(key.utf8), Array(nearest.utf8)) <= limit ? nearest : nil
    }

    /// Levenshtein's distance, one row at a time.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        // A very long key is close to none, and must not cost a quadratic search.
        guard left.count <= 64 else { return left.count }
        var row = Array(0...right.count)
        for (index, byte) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in right.indices {
                let substituted = diagonal + (byte == right[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(substituted, diagonal + 1, row[column] + 1)
            }
        }
        return row[right.count]
    }
}
