import NetworkCore

/// Whose tokens count, where somebody else may have written to the store: those in memory, or those
/// that are stored.
///
/// Behind a look into the store, the first row that fits decides:
///
/// | the store holds | in memory | |
/// |---|---|---|
/// | what it went on to hold when it was to be forgotten | | `memory` |
/// | another client's still, and the server has given tokens to put in their place | | `memory` |
/// | another client's | | `foreign` |
/// | this client's, or nothing | nothing unsaved | `stored` |
/// | the same as at the last look | unsaved | `memory` |
/// | nothing: somebody signed out | unsaved | `stored` |
/// | what a refresh token began that is configured no longer | unsaved | `memory` |
/// | the refresh token of the last look, so only notes are new | another one | `memory` |
/// | another refresh token, or the very one in memory | unsaved | `stored` |
///
/// Behind a write that met another's, which only whoever wrote without the lock can have made:
///
/// | the store holds | |
/// |---|---|
/// | another client's | `foreign` |
/// | a refresh token unlike the one of the last look, the one presented and the one to be written | `stored` |
/// | anything else, which is older than what the server has just said | `memory` |
enum Precedence {
    /// What is in memory stays, and is written as soon as that can be done.
    case memory
    /// What is stored takes the place of what is in memory.
    case stored
    /// What is in memory may be presented, but does not take the place of another client's.
    case foreign
}
