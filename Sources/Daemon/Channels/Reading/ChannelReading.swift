package import NetproxyConfig
import NetworkCore
import OAuth

/// The result of one attempt to read the secrets and files of a channel.
package struct ChannelReading: Sendable {
    /// The values read so far; `fillIn` adds earlier ones.
    package private(set) var inputs: ChannelInputs
    /// The problems, one for each key.
    private var problems: [ConfigurationError]
    /// The error output of helper programs, which only the operator may read.
    package private(set) var words: [String] = []
    /// The unreadable secrets.
    package private(set) var unread: Set<SecretReference> = []
    /// The time until a secret must be read again, if a helper program has stated one.
    package var lifetime: Duration?

    /// Creates a reading from the files, with the problems of unreadable ones.
    init(_ inputs: ChannelInputs, _ problems: [ConfigurationError]) {
        (self.inputs, self.problems) = (inputs, problems)
    }

    /// The problems for clients and commands, without their positions in the configuration file.
    var reasons: [String] { problems.map { "\($0.key): \($0.message)" } }

    /// Adds a secret.
    mutating func note(_ reference: SecretReference, _ secret: Secret) {
        inputs.secrets[reference] = secret
    }

    /// Adds a key of several lines.
    mutating func note(_ reference: SecretReference, document: Secret) {
        inputs.documents[reference] = document
    }

    /// Adds the error of an unreadable secret.
    mutating func note(
        _ reference: SecretReference,
        _ error: SecretError,
        at place: ConfigurationError
    ) {
        problems.append(place)
        if let said = error.words { words.append("\(place.key): \(said)") }
        unread.insert(reference)
    }

    /// Adds the server of the last sign-in.
    mutating func note(_ server: PinnedServer?, of channel: ChannelConfiguration) {
        inputs.note(server, of: channel)
    }

    /// Fills in earlier values for unreadable secrets and files.
    ///
    /// - Parameter present: the inputs of the channels in force.
    /// - Returns: whether every secret and file has a value.
    mutating func fillIn(from present: [ChannelInputs]) -> Bool {
        for reference in unread {
            // A reference is either a secret or a document.
            if let secret = present.lazy.compactMap({ $0.secrets[reference] }).first {
                inputs.secrets[reference] = secret
            }
            if let document = present.lazy.compactMap({ $0.documents[reference] }).first {
                inputs.documents[reference] = document
            }
        }
        for (path, contents) in inputs.files where contents == nil {
            guard let known = present.lazy.compactMap({ $0.files[path] ?? nil }).first
            else { continue }
            inputs.files[path] = .some(known)
        }
        return unread.allSatisfy { inputs.secrets[$0] != nil || inputs.documents[$0] != nil }
            && inputs.files.values.allSatisfy { $0 != nil }
    }
}

/// A reading that has ended or is still in progress.
struct PendingReading: Sendable {
    let task: Task<ChannelReading, Never>
    /// The result; `nil` while the reading is in progress.
    var ended: ChannelReading?
}
