public import NetworkClient

/// The use of samples by a manager.
public enum StubBehaviour: Sendable, Hashable {
    /// Calls use the channel's transport.
    case never
    /// Calls return the endpoint's sample immediately.
    case immediate
    /// Calls return the endpoint's sample after a delay on the channel's clock.
    case delayed(Duration)
}

extension NetworkManager {
    /// Creates a manager that responds with the samples of its endpoints, without a network.
    ///
    /// - Parameters:
    ///   - channel: interceptors, decoder and rules as in production; its transport is used for
    ///     `never` only.
    ///   - behaviour: returns the behavior for each endpoint.
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
