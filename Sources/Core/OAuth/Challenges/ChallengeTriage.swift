import FoundationEssentials
import NetworkCore

/// The meaning of a 401 for the token in the request.
///
/// The scheme of a challenge does not count: APIs refuse an expired token with `Basic`, `OAuth`,
/// `Token` or any other scheme, and with no or a malformed challenge. The first row that matches
/// decides:
///
/// | some challenge, or else the content, names | |
/// |---|---|
/// | `invalid_token` | `refused` |
/// | a fault of the proof of possession | `proofRefused` |
/// | `insufficient_scope`, `invalid_request` or `insufficient_user_authentication` | `passThrough` |
/// | another error, or none | `suspected` |
enum ChallengeTriage: Equatable {
    /// `invalid_token`: the token is not valid.
    case refused
    /// The proof was refused, not the token (RFC 9449 §7.1, §9).
    case proofRefused
    /// Nothing specific: the token may be invalid.
    case suspected
    /// Another token of the same kind would not help.
    case passThrough(NotReplayed)

    /// The kinds of tokens.
    enum TokenKind {
        case bearer
        /// Presented with a proof of possession.
        case bound
    }

    /// Judges a response.
    ///
    /// An `error` that RFC 6750 does not define counts as suspicion: servers invent words for "expired",
    /// and the cool-down limits the cost of a wrong guess.
    ///
    /// - Parameters:
    ///   - headers: the fields of the response.
    ///   - content: the beginning of its content, if known.
    ///   - kind: the kind of the token.
    /// - Returns: the judgement, by the table above.
    static func judge(
        _ headers: HTTPHeaders,
        content: ByteSlice? = nil,
        of kind: TokenKind = .bearer
    ) -> ChallengeTriage {
        let errors = ChallengeParser.errors(in: headers)
        let verdicts = errors.map { judge($0, of: kind) }
        let decided = verdicts.filter { $0 != .suspected }
        for grave: ChallengeTriage in [.refused, .proofRefused] where decided.contains(grave) {
            return grave
        }
        if let first = decided.first { return first }
        guard errors.isEmpty, let content else { return .suspected }
        return judge(content)
    }

    private static func judge(_ error: String, of kind: TokenKind) -> ChallengeTriage {
        switch error {
        case "invalid_token": .refused
        case _ where kind == .bound && ProofOfPossession.isAtFault(error): .proofRefused
        case "insufficient_scope": .passThrough(.insufficientScope)
        case "invalid_request": .passThrough(.invalidRequest)
        case "insufficient_user_authentication": .passThrough(.stepUpRequired)
        default: .suspected
        }
    }

    private struct Document: Decodable {
        var error: String
    }

    /// Judges the content: only the two words that concern tokens alone count, since no RFC defines an
    /// `error` there.
    private static func judge(_ content: ByteSlice) -> ChallengeTriage {
        do {
            return switch try JSONDecoder().decode(Document.self, from: Data(content.array)).error {
            case "invalid_token": .refused
            case "insufficient_scope": .passThrough(.insufficientScope)
            default: .suspected
            }
        } catch {
            // Not such a document.
            return .suspected
        }
    }
}
