/// Whether a request carries the channel's credential.
public enum AuthorizationRequirement: String, Sendable, Hashable, CaseIterable {
    /// It must: without an authorizer or a credential the request is not sent.
    case required
    /// It does where the channel has an authorizer; it goes without where that wants a person to sign in
    /// first (`reauthorization_required`).
    ///
    /// A credential that is only out of reach for the moment (`credential_unavailable`) is an error
    /// here too.
    case optional
    /// It never does: sign-in pages, public content.
    ///
    /// Not `none`, which in the place of an optional requirement would be no requirement at all.
    case never
}
