import NetworkCore

/// What stands in the way of the next token, and what went wrong on the way to it.
struct Trouble {
    /// Until when the token endpoint is left alone, and why.
    var outage: Outage? {
        didSet { if oldValue?.room !== outage?.room { oldValue?.room.finish(.idle) } }
    }
    /// Why only a person can help.
    var death: Death?
    /// How many attempts failed in a row.
    var failuresInRow = 0
    /// What went wrong last, until a token comes.
    var lastFailure: OAuthFailure?

    /// Nothing stands in the way any more; what went wrong last is still told.
    ///
    /// A new value in place of this one would leave those waiting who wait for the end of the outage.
    mutating func clear() {
        outage = nil
        death = nil
        failuresInRow = 0
    }
}
