import HTTPMessage

extension RequestHead {
    /// Stands for a head that could not be read, when the refusal is written.
    package static var unreadable: RequestHead {
        RequestHead(
            method: .get,
            target: .origin("/"),
            version: .http11,
            headers: [:],
            framing: .none,
            keepAlive: false,
            expectsContinue: false,
            host: nil
        )
    }
}
