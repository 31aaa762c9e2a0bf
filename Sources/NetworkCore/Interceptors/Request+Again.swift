extension Request {
    /// The request for another attempt, with its body from the start; nothing if that is gone.
    ///
    /// The attempts before read nothing more of it.
    func again() -> Request? {
        guard let buffer = ReplayBuffer.recording(body) else { return self }
        let hasBegun = buffer.hasBegun
        guard let body = buffer.replay() else { return nil }
        var again = self
        again.body = body
        // The body is here, or on its way: there is nothing left to expect.
        if hasBegun { again.headers.remove(HTTPFieldName.expect) }
        return again
    }
}

extension HTTPBody {
    /// Whether it can be sent again after an attempt that may have read it.
    var isLeft: Bool {
        if let buffer = ReplayBuffer.recording(self) { return buffer.isReplayable }
        return isReplayable
    }

    /// Whether all of it can be sent, as far as is known.
    var isWhole: Bool {
        guard case .stream(let source, _) = self else { return true }
        return switch source {
        case let watched as WatchedBody: watched.isUntouched
        case let reader as ReplayReader: reader.buffer.isReplayable
        default: true
        }
    }
}
