import Bytes
import FoundationEssentials
import HTTPMessage
import NetworkCore
import ProxyConfig
import RequestLog

/// What happened to one exchange, step by step, in sentences: the answer of `/why/ID` and what
/// `netproxy why` prints.
///
/// Made on demand, out of the line of the log and what the loop noted beside it.
package struct ExchangeExplanation: Codable, Sendable {
    /// One step.
    package struct Step: Codable, Sendable {
        /// `request`, `route`, `headers`, `credential`, `attempt` or `response`.
        package let step: String
        /// What happened.
        package let text: String
    }

    /// The id of the exchange.
    package let requestID: String
    /// In the order in which they happened.
    package let steps: [Step]

    private enum CodingKeys: String, CodingKey {
        case steps
        case requestID = "request_id"
    }

    /// Reads the daemon's answer; nothing if it is none.
    package init?(json: String) {
        let decoder = JSONDecoder()
        guard let read = try? decoder.decode(ExchangeExplanation.self, from: Data(json.utf8)) else {
            return nil
        }
        self = read
    }

    /// The lines for a person, each step with its name in front.
    package var lines: [String] {
        let width = 12
        return ["exchange \(requestID)"]
            + steps.map { step in
                let padding = String(repeating: " ", count: max(1, width - step.step.count))
                return "  \(step.step)\(padding)\(step.text)"
            }
    }

    /// The answer: the explanation, and the line of the log as it is.
    func json(record: [UInt8]) -> String {
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
        output.append("}\n")
        return String(decoding: output.span.array, as: UTF8.self)
    }
}

extension ExchangeExplanation {
    /// Explains an exchange; nothing if its line cannot be read.
    init?(_ exchange: RecentExchange) {
        guard let line = LogLine(exchange.line.filter { $0 != UInt8(ascii: "\n") }) else {
            return nil
        }
        requestID = line["request_id"]?.text ?? ""
        let teller = ExchangeTeller(exchange: exchange, line: line)
        steps = teller.steps.map { Step(step: $0.step, text: $0.text) }
    }
}
