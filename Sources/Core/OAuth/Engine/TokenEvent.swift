import NetworkCore

/// Something that happened to the tokens of a credential.
enum TokenEvent {
    /// A request with the token was not refused, or its response says nothing about the token.
    case responded(generation: Int, TokenTrial.Finding)
    /// The released waiter has taken the token on trial.
    case trialTokenTaken
    /// A request read a stale token.
    case staleTokenRead
    /// The task of a renewal has ended; `waiting` is how many requests wait for it.
    case renewalEnded(RenewalInProgress, RenewalOutcome, waiting: Int)
    /// The task of a renewal has not ended in time.
    case renewalOverdue(RenewalInProgress, jitter: Double)
    /// The store was checked for changes.
    case storeChecked(TokenRecord?, since: StoreCheck, jitter: Double)
    /// The store could not be checked for changes.
    case storeCheckFailed
    /// The tokens are to be forgotten.
    case forgetting
    /// The tokens were removed from the store, or could not be.
    case removalEnded
}

/// An action of the manager after a decision.
enum TokenAction {
    /// Publish the snapshot that requests read.
    case publish
    /// Report an event.
    case report(OAuthEvent)
    /// Start the task of a renewal.
    case startRenewal(RenewalInProgress)
    /// End a renewal and the waits for it; does nothing if it was abandoned.
    case endRenewal(RenewalInProgress, RenewalOutcome)
    /// End the waits for a renewal that takes too long, and cancel its task.
    case abandonRenewal(RenewalInProgress, RenewalOutcome)
    /// Release one waiter of a renewal that has ended with a token; the others wait for its result.
    case startTrial(TokenTrial, after: RenewalInProgress)
    /// End the waits for the trial.
    case endTrial(RenewalOutcome)
    /// Let requests wait for the end of the pause, and release those that wait for an earlier one.
    case startPause
    /// Release the requests that wait for the end of the pause.
    case endPause
    /// Write the record in memory as soon as possible.
    case write
    /// Report the next successful response again.
    case unprove(Credential)
}

/// A renewal in progress; there is at most one.
struct RenewalInProgress: Equatable {
    /// Identifies it, so that a late result is ignored.
    let id: Int
    let reason: OAuthEvent.Reason
}

/// The state at the beginning of a check of the store for changes.
struct StoreCheck {
    let stored: StoredState
    let renewalCount: Int
}
