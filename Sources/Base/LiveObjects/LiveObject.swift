/// A stored property that counts the live instances of its class; see `LiveObjects`.
///
/// It costs nothing in a release build.
package struct LiveObject: ~Copyable {
    #if DEBUG
        private let type: String
        private let census: LiveObjects?

        /// Counts an object of the type until the property is destroyed with it.
        package init(_ type: Any.Type) {
            census = LiveObjects.ofThread
            self.type = census == nil ? "" : "\(type)"
            census?.add(1, to: self.type)
        }

        deinit {
            census?.add(-1, to: type)
        }
    #else
        /// Counts nothing.
        @inline(__always)
        package init(_: Any.Type) {}
    #endif
}
