extension Request {
    /// The request for another attempt, with its body from the start; nothing if that is gone.
    ///
    /// What is here is sent as it is, a `RepeatableBodySource` is read anew, and so is what a
    /// `ReplayBuffer` keeps: the attempts before read nothing more of that.
    public func again() -> Request? {
        var again = self
        if let buffer = ReplayBuffer.recording(body) {
            let hasBegun = buffer.hasBegun
            guard let body = buffer.replay() else { return nil }
            again.body = body
            // The body is here, or on its way: there is nothing left to expect.
            if hasBegun { again.headers.remove(HTTPFieldName.expect) }
            return again
        }
        if let source = body.unwatched as? any RepeatableBodySource {
            again.body = .stream(source.fromStart(), length: body.length)
            return again
        }
        // Of all others, nobody knows how much is left.
        if case .stream(let source as WatchedBody, _) = body, source.isUntouched { return self }
        return body.isReplayable ? self : nil
    }
}

extension HTTPBody {
    /// What a streamed body is read from, behind those that only watch.
    var unwatched: (any BodySource)? {
        guard case .stream(var source, _) = self else { return nil }
        while let watched = source as? WatchedBody { source = watched.source }
        return source
    }

    /// Whether another attempt may have it without more ado: it is read anew, or somebody keeps it.
    var isKept: Bool {
        let source = unwatched
        return source is any RepeatableBodySource || source is ReplayReader
    }

    /// Whether it can be sent again after an attempt that may have read it.
    var isLeft: Bool {
        if let buffer = ReplayBuffer.recording(self) { return buffer.isReplayable }
        return isReplayable || unwatched is any RepeatableBodySource
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
