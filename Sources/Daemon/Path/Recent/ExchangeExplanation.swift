import FoundationEssentials
import NetproxyBytes
import NetproxyConfig
import NetproxyHTTPMessage
import NetproxyRequestLog
import NetworkCore

/// An explanation of one exchange in steps and sentences: the response of `/why/ID` and the output of
/// `netproxy why`.
///
/// It is created on demand from the log line and the note that the loop stored with it.
package struct ExchangeExplanation: Codable, Sendable {
    /// One step of an exchange.
    package struct Step: Codable, Sendable {
        /// The kind of the step, such as `request`, `route`, `headers`, `credential`, `attempt 1` or
        /// `response`.
        package let step: String
        /// The description of the step.
        package let text: String
    }

    /// The id of the exchange.
    package let requestID: String
    /// The steps in the order of their occurrence.
    package let steps: [Step]

    private enum CodingKeys: String, CodingKey {
        case steps
        case requestID = "request_id"
    }

    /// Parses the daemon's response; `nil` if it is malformed.
    package init?(json: String) {
        let decoder = JSONDecoder()
        guard let read = try? decoder.decode(ExchangeExplanation.self, from: Data(json.utf8)) else {
            return nil
        }
        self = read
    }

    /// The explanation as text, with one line for each step, which begins with its name.
    package var lines: [String] {
        let width = 12
        return ["exchange \(requestID)"]
            + steps.map { step in
                let padding = String(repeating: " ", count: max(1, width - step.step.count))
                return "  \(step.step)\(padding)\(step.text)"
            }
    }

    /// Returns the response: the explanation, the unchanged log line, and a curl command that repeats the
    /// request.
    package func json(record: [UInt8], command: String) -> String {
        let output = OutputBuffer(capacity: 2048)
        output.append("{\"request_id\":")
        JSONText.append(requestID, to: output)
        output.append(",\"steps\":[")
        for (index, step) in steps.enumerated() {
            output.append(index == 0 ? "{\"step\":" : ",{\"step\":")
            JSONText.append(step.step, to: output)
            output.append(",\"text\":")
            JSONText.append(step.text, to: output)
            output.append("}")
        }
        output.append("],\"record\":")
        output.append(record.last == UInt8(ascii: "\n") ? Array(record.dropLast()) : record)
        output.append(",\"curl\":")
        JSONText.append(command, to: output)
        output.append("}\n")
        return String(decoding: output.span.array, as: UTF8.self)
    }
}

extension ExchangeExplanation {
    /// Explains an exchange; `nil` if its line cannot be parsed.
    package init?(_ exchange: RecentExchange) {
        guard let line = LogLine(exchange.line.filter { $0 != UInt8(ascii: "\n") }) else {
            return nil
        }
        requestID = line["request_id"]?.text ?? ""
        let describer = ExchangeDescriber(exchange: exchange, line: line)
        steps = describer.steps.map { Step(step: $0.step, text: $0.text) }
    }
}
