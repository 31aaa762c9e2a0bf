public struct Secret: Sendable, Equatable { let text: String; public init(_ text: String) { self.text = text } }
public protocol Authorizing: Sendable {}
public struct StaticAuthorizer: Authorizing {
    public static func bearer(_ s: Secret) -> Self { Self() }
    public static func basic(username: String, password: Secret) -> Self { Self() }
    public static func header(_ n: HTTPFieldName, _ s: Secret) -> Self { Self() }
}
public enum ClientCredentialPolicy: Sendable { case replace, keep, reject }
public struct ReauthorizationInterceptor: RequestInterceptor {
    public init(authorizer: any Authorizing, replayLimit: Int) {}
    public func intercept(_ r: Request, context: inout RequestContext, next: RequestChain) async throws -> Response { try await next.send(r, context: &context) }
}
public struct AuthorizationInterceptor: RequestInterceptor {
    public init(authorizer: any Authorizing, onClientCredential: ClientCredentialPolicy) {}
    public func intercept(_ r: Request, context: inout RequestContext, next: RequestChain) async throws -> Response { try await next.send(r, context: &context) }
}
