import NetproxyConfig
import NetproxyHTTPMessage
import NetproxyPath
import NetworkCore

extension InterceptorStack {
    /// Creates the interceptors for a channel's configuration.
    init(
        _ configuration: ChannelConfiguration,
        secretFields: [HTTPField],
        accounts: [ChannelAccount],
        origin: Origin,
        spillDirectory: String
    ) {
        self.init()
        let retrying = configuration.retry
        let spill = retrying.spill.map { BodySpill(directory: spillDirectory, limit: $0.bytes) }
        let editor = configuration.headers.interceptor(with: secretFields)
        if !editor.isIdle { headers = editor }
        if retrying.attempts > 0 {
            var policy = RetryPolicy()
            policy.retries = retrying.attempts
            policy.statuses = Set(retrying.status)
            policy.base = retrying.backoff.base
            policy.maximum = retrying.backoff.max
            retry = RetryInterceptor(
                policy: policy,
                budget: RetryBudget(share: Double(retrying.budget.percent) / 100),
                replayLimit: retrying.replayBody.bytes,
                spill: spill
            )
        }
        lengthLimit = retrying.replayBody.bytes
        let signings = accounts.map { account in
            var signing = Signing(
                by: account.authorizer,
                for: origin,
                replayLimit: retrying.replayBody.bytes
            )
            signing.identity = account.identity
            signing.place = configuration.credentialPlace
            signing.replays = retrying.unauthorized
            signing.refusals = RefusalRule(
                statuses: retrying.refusals.status.compactMap { HTTPStatus(rawValue: $0) },
                phrase: retrying.refusals.body,
                further: account.running.refusals
            )
            signing.spill = spill
            signing.onClientCredential = configuration.onClientCredential
            return signing
        }
        signing = signings.first
        spareSignings = Array(signings.dropFirst())
    }
}

extension HeaderRules {
    /// Returns an interceptor that edits fields by these rules.
    fileprivate func interceptor(with secretFields: [HTTPField]) -> DefaultHeadersInterceptor {
        func fields(_ list: [HeaderField]) -> HTTPHeaders {
            list.reduce(into: [:]) { headers, field in
                guard let name = HTTPFieldName(field.name) else { return }
                if let line = HTTPField(name, field.value) { headers.append(line) }
            }
        }
        var replacements = fields(set)
        for field in secretFields { replacements.append(field) }
        return DefaultHeadersInterceptor(
            defaults: fields(defaults),
            replacements: replacements,
            removed: remove.compactMap { HTTPFieldName($0) }
        )
    }
}
