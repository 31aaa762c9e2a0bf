/// A version of HTTP.
// Without raw values: to compare it takes one instruction.
package enum HTTPVersion: Sendable {
    case http10
    case http11
    case http2
}
