import NetworkCore
import Testing

@testable import NetproxyPath

/// The accounts of a channel that a client may use, and their order.
@Suite struct AccountChoiceTests {
    private let clients = [
        AccountChoice.Clients(identity: "work", users: []),
        AccountChoice.Clients(identity: "mine", users: [1000]),
        AccountChoice.Clients(identity: "spare", users: []),
    ]

    private func places(
        _ key: LentKey? = nil,
        user: UInt32? = nil
    ) throws -> [UInt64] {
        let choice = try #require(AccountChoice(among: clients))
        let places = try choice.places(for: key, user)
        return [places.all, places.preferred]
    }

    @Test func `a channel with one account for all users has no choice`() {
        #expect(AccountChoice(among: [clients[0]]) == nil)
        #expect(AccountChoice(among: [clients[1]]) != nil)
    }

    @Test func `a user's own account precedes the other accounts`() throws {
        #expect(try places() == [0b101, 0])
        #expect(try places(user: 1) == [0b101, 0])
        #expect(try places(user: 1000) == [0b111, 0b010])
    }

    @Test func `a lent key selects the accounts of its user or its named account`() throws {
        let lent = LentKey(id: "k", identity: nil, isPromised: false, userID: 1000)
        #expect(try places(lent) == [0b111, 0b010])
        let named = LentKey(id: "k", identity: "spare", isPromised: true, userID: 1000)
        #expect(try places(named) == [0b100, 0])
        // The key of a channel that never had this account.
        let other = LentKey(id: "k", identity: "other", isPromised: false, userID: nil)
        #expect(try places(other) == [0b101, 0])
    }

    @Test func `a key for a removed account or for another user's account is refused`() throws {
        let gone = LentKey(id: "k", identity: "gone", isPromised: true, userID: 1000)
        #expect(throws: NetworkError.self) { try places(gone) }
        let foreign = LentKey(id: "k", identity: "mine", isPromised: true, userID: 1)
        #expect(throws: NetworkError.self) { try places(foreign) }
    }
}
