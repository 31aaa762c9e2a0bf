/// The values of streams by number.
///
/// Numbers only increase, so the latest stream is last, and a search takes a few comparisons.
package struct StreamTable<Value: AnyObject> {
    private var ids: [Int32] = []
    private var values: [Value] = []

    package init() {}

    package var count: Int { ids.count }
    package var isEmpty: Bool { ids.isEmpty }
    /// The values of all streams, the oldest first.
    package var all: [Value] { values }

    package subscript(_ id: Int32) -> Value? {
        get { position(of: id).map { values[$0] } }
        set {
            guard let position = position(of: id) else {
                if let newValue { insert(newValue, id) }
                return
            }
            if let newValue {
                values[position] = newValue
            } else {
                ids.remove(at: position)
                values.remove(at: position)
            }
        }
    }

    /// Removes and returns the value of a stream.
    package mutating func take(_ id: Int32) -> Value? {
        guard let position = position(of: id) else { return nil }
        ids.remove(at: position)
        return values.remove(at: position)
    }

    private mutating func insert(_ value: Value, _ id: Int32) {
        let position =
            ids.last.map { $0 < id } ?? true ? ids.count : ids.firstIndex { $0 > id } ?? 0
        ids.insert(id, at: position)
        values.insert(value, at: position)
    }

    private func position(of id: Int32) -> Int? {
        var (low, high) = (0, ids.count)
        while low < high {
            let middle = (low + high) / 2
            if ids[middle] < id { low = middle + 1 } else { high = middle }
        }
        return low < ids.count && ids[low] == id ? low : nil
    }
}
