/// The region and the service that a signature is valid for.
package struct SigningScope: Sendable, Hashable {
    /// Such as `eu-central-1`.
    package let region: String
    /// The service's signing name, such as `s3` or `bedrock`.
    package let service: String

    /// Names a scope.
    package init(region: String, service: String) {
        (self.region, self.service) = (region, service)
    }

    /// Whether the service takes paths as they are, and says in each request how its content is signed.
    package var isS3: Bool {
        switch service {
        case "s3", "s3-object-lambda", "s3-outposts", "s3express": true
        default: false
        }
    }

    /// The scope of a signature of this day, `YYYYMMDD`.
    func text(on day: Substring) -> String { "\(day)/\(region)/\(service)/aws4_request" }
}
