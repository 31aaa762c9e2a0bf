/// Follows redirects according to a policy.
///
/// Calls `next` for each request to the first origin, with the credential. Requests to other origins pass
/// through
/// a chain that adds no credential.
struct RedirectInterceptor: RequestInterceptor {
    private let policy: RedirectPolicy
    private let elsewhere: RequestChain

    /// Creates the interceptor.
    ///
    /// - Parameters:
    ///   - policy: the redirects to follow.
    ///   - elsewhere: the chain for requests to other origins.
    init(policy: RedirectPolicy, elsewhere: RequestChain) {
        self.policy = policy
        self.elsewhere = elsewhere
    }

    /// Whether the response is not a redirect.
    func accepts(_ response: borrowing Response) -> Bool {
        switch response.status.rawValue {
        case 301, 302, 303, 307, 308: false
        default: true
        }
    }

    func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        var request = request
        var chain = next
        var asked = [SentTarget(request)]
        var response = try await chain.send(request, context: &context)
        while !accepts(response) {
            let following: Request
            do throws(Refusal) {
                following = try self.following(request, response, asked)
            } catch {
                context.redirects.append(
                    Redirect(
                        status: response.status,
                        source: request.place,
                        location: response.headers[.location] ?? "",
                        refusal: error.reason
                    )
                )
                return response
            }
            await response.body.discard()
            context.beginNextAttempt(because: .redirect(response.status))
            context.redirects.append(
                Redirect(
                    status: response.status,
                    source: request.place,
                    location: following.place,
                    refusal: nil
                )
            )
            if following.origin != request.origin { chain = elsewhere }
            request = following
            asked.append(SentTarget(request))
            let destination = RequestContext.Destination(
                origin: request.origin,
                target: request.target
            )
            context.destination = destination
            response = try await chain.send(request, context: &context)
            // A retried attempt has reset the destination.
            context.destination = context.destination ?? destination
        }
        return response
    }

    /// A sent request, identified by its method and URL.
    private struct SentTarget: Equatable {
        let method: HTTPMethod
        let url: String

        init(_ request: Request) {
            method = request.method
            url = request.place
        }
    }

    private struct Refusal: Error {
        let reason: String

        init(_ reason: String) {
            self.reason = reason
        }
    }

    /// Returns the request that follows a redirect.
    private func following(
        _ request: Request,
        _ response: Response,
        _ asked: [SentTarget]
    ) throws(Refusal) -> Request {
        guard let location = response.headers[.location] else {
            throw Refusal("it has no Location")
        }
        guard asked.count <= policy.limit else {
            let limit = policy.limit
            throw Refusal("\(limit) redirect\(limit == 1 ? " was" : "s were") followed already")
        }
        var following = try again(request, response.status)
        guard policy.methods.contains(following.method) else {
            throw Refusal("the policy follows no \(following.method)")
        }
        do throws(URIReference.Fault) {
            (following.origin, following.target) = try URIReference(location)
                .resolved(from: request.origin, request.target)
        } catch {
            throw Refusal(error.reason)
        }
        guard request.origin.scheme == .http || following.origin.scheme == .https else {
            throw Refusal("it leads from https to http")
        }
        guard
            !asked.contains(SentTarget(following))
                || response.headers.contains(HTTPFieldName.setCookie)
        else {
            throw Refusal("it leads back to what was asked already")
        }
        if following.origin != request.origin {
            guard policy.crossesOrigins else { throw Refusal("it leads to another origin") }
            following.headers.remove { $0.holdsCredential }
        }
        return following
    }

    /// Returns the request with the method and content that a status requires, before its target changes.
    private func again(_ request: Request, _ status: HTTPStatus) throws(Refusal) -> Request {
        guard status != 303 || request.method == .head else {
            var following = request
            following.method = .get
            following.body = .empty
            following.headers.remove(where: RedirectInterceptor.describesContent)
            return following
        }
        guard let again = request.again() else {
            throw Refusal("the content cannot be sent again")
        }
        return again
    }

    /// Whether a field describes content (RFC 9110 §15.4 and §8, RFC 9530).
    private static func describesContent(_ name: HTTPFieldName) -> Bool {
        let name = name.text.lowercased()
        return name.hasPrefix("content-") || name == "expect" || name.hasSuffix("digest")
            || name == "trailer"
    }
}

extension HTTPHeaders {
    fileprivate mutating func remove(where isRemoved: (HTTPFieldName) -> Bool) {
        remove(Set(map(\.name).filter(isRemoved)))
    }
}

extension Request {
    /// The complete URL.
    fileprivate var place: String { "\(origin)\(target)" }
}

extension HTTPBody {
    /// The maximum length of content to read for the reuse of its connection, in bytes.
    private static let discardLimit = 64 * 1024

    /// Reads short content to its end so that the connection can be reused; cancels longer content.
    fileprivate func discard() async {
        guard case .stream(let source, let length) = self else { return cancel() }
        guard length ?? 0 <= HTTPBody.discardLimit else { return source.cancel() }
        var count = 0
        do {
            while let piece = try await source.next() {
                count += piece.count
                if count > HTTPBody.discardLimit { return source.cancel() }
            }
        } catch {
            source.cancel()
        }
    }
}
