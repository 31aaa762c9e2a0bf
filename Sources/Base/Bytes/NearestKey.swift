/// Finds the known key that a mistyped key resembles.
package enum NearestKey {
    /// Returns the known key with the smallest edit distance, the first if there are several.
    package static func of(_ key: String, among known: [String]) -> String? {
        known.map { ($0, distance(Array(key.utf8), Array($0.utf8))) }.min { $0.1 < $1.1 }?.0
    }

    /// Returns the nearest key only if most of its letters match: keys that share few letters are not
    /// misspellings of each other.
    package static func likely(_ key: String, among known: [String]) -> String? {
        guard let nearest = of(key, among: known) else { return nil }
        // Two transposed letters count twice.
        let limit = (key.utf8.count + 1) * 2 / 5
        return distance(Array(key.utf8), Array(nearest.utf8)) <= limit ? nearest : nil
    }

    /// Returns the Levenshtein distance, computed row by row.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        // A very long key resembles no other, and must not cause a quadratic search.
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
