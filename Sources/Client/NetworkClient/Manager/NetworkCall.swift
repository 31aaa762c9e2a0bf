import Synchronization

/// A call with all settings that are known before it is sent; shared, never copied.
final class NetworkCall: Sendable {
    let subject: any CustomStringConvertible & Sendable
    let request: Request
    let authorization: AuthorizationRequirement
    let validation: SuccessRule
    let decoder: (any ContentDecoding)?
    let timeout: Duration?
    let stallTimeout: Duration?
    let transport: (any HTTPTransport)?
    let options: CallOptions

    init(
        subject: any CustomStringConvertible & Sendable,
        request: Request,
        authorization: AuthorizationRequirement,
        validation: SuccessRule,
        decoder: (any ContentDecoding)?,
        timeout: Duration?,
        stallTimeout: Duration?,
        transport: (any HTTPTransport)?,
        options: CallOptions
    ) {
        self.subject = subject
        self.request = request
        self.authorization = authorization
        self.validation = validation
        self.decoder = decoder
        self.timeout = timeout
        self.stallTimeout = stallTimeout
        self.transport = transport
        self.options = options
    }

    /// The name of the call's limit in errors.
    var timeSetting: TimeSetting? {
        timeout.map { TimeSetting("the timeout of the call", $0, owner: "this client") }
    }

    /// Returns the same call with another request and rule.
    func with(_ request: Request, _ validation: SuccessRule) -> NetworkCall {
        NetworkCall(
            subject: subject,
            request: request,
            authorization: authorization,
            validation: validation,
            decoder: decoder,
            timeout: timeout,
            stallTimeout: stallTimeout,
            transport: transport,
            options: options
        )
    }
}

/// Creates the IDs of calls: a random word of the process, and a counter.
///
/// The random word is generated only once, because a system call per ID would cost more than the rest.
enum CallID {
    private static let word = String(UInt64.random(in: .min ... .max), radix: 36)
    private static let count = Atomic<UInt64>(0)

    /// Returns an ID that no other call has.
    static func next() -> String {
        "\(word)-\(String(count.add(1, ordering: .relaxed).newValue, radix: 36))"
    }
}
