public import NetworkClient

/// Whether a manager answers from its endpoints' samples.
public enum StubBehaviour: Sendable, Hashable {
    /// No: calls go over the channel's transport.
    case never
    /// Yes, at once.
    case immediate
    /// Yes, after a while on the channel's clock.
    case delayed(Duration)
}

extension NetworkManager {
    /// Makes a manager that answers from the samples of its endpoints, without a network.
    ///
    /// - Parameters:
    ///   - channel: interceptors, decoder and rules as in production; its transport is used for
    ///     `never` only.
    ///   - behaviour: decides for each endpoint.
    public convenience init(
        stubbing channel: NetworkChannel = NetworkChannel(transport: StubTransport()),
        _ behaviour: @escaping @Sendable (Item) -> StubBehaviour = { _ in .immediate }
    ) {
        let clock = channel.clock
        self.init(channel) { endpoint in
            let sample = StubAnswer.sample(endpoint.sampleResponse)
            switch behaviour(endpoint) {
            case .never: return nil
            case .immediate: return StubTransport(clock: clock) { _ in sample }
            case .delayed(let delay):
                return StubTransport(clock: clock) { _ in .delayed(delay, sample) }
            }
        }
    }
}
