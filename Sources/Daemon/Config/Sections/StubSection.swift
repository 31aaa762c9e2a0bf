/// The keys of a response in `stub`.
struct AnswerKeys: SectionKeys {
    static let table = KeyTable(Self())

    let method = Key("method", .list(.method), default: [])
    let path = Key("path", .pathPattern)
    let delay = Key("delay", .duration(atLeast: .zero), default: "0s")
    let status = Key("status", .integer(200...599), default: 200)
    let headers = Key("headers", .headers(HeaderFields.field), default: [:])
    let body = Key("body", .body)
    let file = Key("file", .absolutePath)
    let fault = Key("fault", .choice(SampleAnswer.Fault.self))
}

extension Form<String> {
    static var method: Form { .scalar("a method such as GET", parse: TextRules.method) }

    static var pathPattern: Form {
        .scalar("a path such as /orders/*, without query", parse: TextRules.pathPattern)
    }

    fileprivate static var body: Form {
        Form(.opaque) { slot in
            if let text = slot.text { return text }
            slot.report("expected a text; quote it, or use | for several lines")
            return nil
        }
    }
}

extension Form<[SampleAnswer]> {
    /// The responses in their order; an empty list is an error.
    static var answers: Form {
        Form(.list(.map(AnswerKeys.self))) { slot in
            guard let items = slot.node?.items else {
                slot.report("expected a list of answers, found \(slot.node?.found ?? "nothing")")
                return []
            }
            if items.isEmpty {
                slot.report("expected at least one answer; remove stub to have none")
            }
            var hasCatchAll = false
            return items.map { item in
                if hasCatchAll {
                    slot.reading.report(
                        "never used, because an earlier answer matches every request",
                        at: item
                    )
                }
                let answer = AnswerReader(item, in: slot.reading).answer()
                hasCatchAll = hasCatchAll || answer.path == nil && answer.methods.isEmpty
                return answer
            }
        }
    }
}

/// Reads one response of a channel's `stub`.
private struct AnswerReader {
    let section: Section<AnswerKeys>

    init(_ node: ConfigNode, in reading: Reading) {
        if node.isNull { reading.report("expected a map, found nothing", at: node) }
        section = Section(node, path: node.path, position: node.position, in: reading)
    }

    func answer() -> SampleAnswer {
        let answer = SampleAnswer(
            methods: section[\.method],
            path: section[\.path],
            delay: section[\.delay],
            status: section[\.status],
            headers: section[\.headers],
            content: content(),
            fault: section.fault.isWritten ? section[\.fault] ?? .connectionRefused : nil
        )
        checkCoherence(of: answer)
        return answer
    }

    private func content() -> SampleAnswer.Content {
        guard section.file.isWritten else {
            return section[\.body].map { .text($0) } ?? .none
        }
        if section.body.isWritten { section.file.report("body and file cannot be used together") }
        guard let path = section[\.file] else { return .none }
        section.file.mention(.sample(path))
        return .file(path)
    }

    private func checkCoherence(of answer: SampleAnswer) {
        if [204, 304].contains(answer.status), answer.content != .none {
            (section.body.isWritten ? section.body : section.file).report(
                "an answer with status \(answer.status) cannot have a body"
            )
        }
        // A misspelled fault has been reported already.
        guard let fault = answer.fault, section.fault.text == fault.rawValue,
            fault != .httpResponseIncomplete
        else { return }
        for slot in [section.status, section.headers, section.body, section.file] {
            slot.refuse("there is no response with the fault \(fault.rawValue)")
        }
    }
}
