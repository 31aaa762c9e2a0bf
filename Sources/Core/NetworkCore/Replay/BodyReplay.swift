import Synchronization

extension Request {
    /// Returns the request for another attempt, with its body from the start; `nil` if the body is consumed.
    ///
    /// A body in memory is sent unchanged. A `RepeatableBodySource` is read again, and so is the content of a
    /// `ReplayBuffer`, which earlier attempts can no longer read.
    public func again() -> Request? {
        var again = self
        switch body.supply {
        case .memory: break
        case .repeatable(let source):
            again.body = .stream(source.fromStart(), length: body.length)
        case .kept(let buffer):
            let hasBegun = buffer.hasBegun
            guard let body = buffer.replay() else { return nil }
            again.body = body
            // The body has arrived or is arriving, so there is no need for `Expect`.
            if hasBegun { again.headers.remove(HTTPFieldName.expect) }
        case .watched(let source):
            guard source.isUntouched else { return nil }
        case .unknown: return nil
        }
        return again
    }
}

extension Request {
    /// Records a body that can be read only once, so that `again()` can return it.
    ///
    /// - Parameters:
    ///   - limit: the largest number of bytes to keep in memory.
    ///   - spill: the store for longer bodies; `nil` if they are not kept.
    ///   - length: the length of the body, if it is known.
    /// - Returns: the buffer, to be released after the last attempt; `nil` for any other body.
    mutating func keepBody(
        upTo limit: Int,
        spill: BodySpill? = nil,
        length: Int?
    ) -> ReplayBuffer? {
        guard let source = body.readOnceSource else { return nil }
        let buffer = ReplayBuffer(source, length: length, limit: limit, spill: spill)
        body = buffer.body()
        return buffer
    }
}

/// The source of a request's body for another attempt.
private enum BodySupply {
    /// The body is empty or in memory.
    case memory
    /// The source can be read again.
    case repeatable(any RepeatableBodySource)
    /// A buffer records the bytes as they are read, up to its limit.
    case kept(ReplayBuffer)
    /// The source can be read only once, and records whether it was.
    case watched(WatchedBody)
    /// The source can be read only once, and its remaining length is unknown.
    case unknown
}

extension HTTPBody {
    fileprivate var supply: BodySupply {
        switch self {
        case .empty, .bytes: .memory
        case .stream(let source as ReplayReader, _): .kept(source.buffer)
        case .stream(let source as WatchedBody, _): .watched(source)
        case .stream(let source as any RepeatableBodySource, _): .repeatable(source)
        case .stream, .tunnel: .unknown
        }
    }

    /// The source of a body that can be read only once; `nil` if another attempt can send the body.
    var readOnceSource: (any BodySource)? {
        switch (self, supply) {
        case (.stream(let source, _), .watched), (.stream(let source, _), .unknown): source
        default: nil
        }
    }

    /// The same body; if it can be read only once, `Request.again()` can tell whether it was.
    package var watched: HTTPBody {
        guard case .unknown = supply, case .stream(let source, let length) = self else {
            return self
        }
        return .stream(WatchedBody(source), length: length)
    }

    /// Whether `Request.again()` returns a request with this body.
    package var canBeSentAgain: Bool {
        switch supply {
        case .memory, .repeatable: true
        case .kept(let buffer): buffer.isReplayable
        case .watched(let source): source.isUntouched
        case .unknown: false
        }
    }

    /// Whether the body can be sent after an attempt that sent no part of the request.
    ///
    /// A stream that is not watched counts as unread.
    var canBeSentAfterNothing: Bool {
        if case .unknown = supply { true } else { canBeSentAgain }
    }
}

/// A request body that can be read only once, and records whether reading has begun.
final class WatchedBody: BodySource {
    private let source: any BodySource
    private let wasTouched = Atomic(false)

    /// Whether the body was neither read nor canceled.
    var isUntouched: Bool { !wasTouched.load(ordering: .relaxed) }

    init(_ source: any BodySource) {
        self.source = source
    }

    func next() async throws -> ByteSlice? {
        wasTouched.store(true, ordering: .relaxed)
        return try await source.next()
    }

    func buffered() -> ByteSlice? {
        wasTouched.store(true, ordering: .relaxed)
        return source.buffered()
    }

    func trailers() -> HTTPHeaders? { source.trailers() }

    func cancel() {
        wasTouched.store(true, ordering: .relaxed)
        source.cancel()
    }
}
