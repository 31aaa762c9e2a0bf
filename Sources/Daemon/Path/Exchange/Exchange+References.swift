import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyRequestLog
import NetworkCore
import OAuth

/// Translation of the response fields that refer to the upstream.
extension Exchange {
    /// Edits the references in a response, and records those that lead past netproxy.
    @inline(never)
    mutating func editReferences(of response: inout Response) {
        guard let rules = channel?.rules, let view else { return }
        leads = rules.references(view, record.context.sentCredential, by: rule)
            .edit(&response.headers)
        // The client must not sign in past netproxy.
        if !rules.clients.isEmpty, response.status == 401 || response.status == 403 {
            if response.status == 403 { rules.wantedScope?.learn(from: response.headers) }
            ResourceMetadataRemoval.edit(&response.headers)
        }
    }

    /// Applies the same edits to interim responses.
    mutating func editInterim() {
        guard let rules = channel?.rules, let view, let write = record.context.onInformational
        else { return }
        record.context.onInformational = { [rule] status, headers in
            var headers = headers
            let credential = rules.stack.signing?.authorizer.currentCredential()
            _ = rules.references(view, credential, by: rule).edit(&headers)
            try await write(status, headers)
        }
    }
}
