package import NetproxyConfig
import NetproxyEventIO
import NetproxyHTTPMessage
import NetworkCore

extension HeaderSettings: CredentialProviding {
    package func credential(
        for _: ChannelConfiguration,
        in context: CredentialContext
    ) async throws -> RunningCredential {
        guard let field = HTTPFieldName(name) else {
            let owner = context.owner
            throw IOError.system(
                "\(owner): \(owner.key("header.name")) is not a valid field name"
            )
        }
        return try await context.fixed(value) { value throws(NetworkError) in
            try StaticAuthorizer.header(field, value)
        }
    }
}
