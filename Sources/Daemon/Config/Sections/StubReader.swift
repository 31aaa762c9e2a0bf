/// Reads the answers of a channel's `stub`.
struct StubReader {
    let reading: Reading

    /// Reads the answers in their order; an empty list is an error.
    func answers(_ node: ConfigNode) -> [SampleAnswer] {
        guard let items = node.items else {
            reading.report("expected a list of answers, found \(node.found)", at: node)
            return []
        }
        if items.isEmpty {
            reading.report("expected at least one answer; remove stub to have none", at: node)
        }
        var hasCatchAll = false
        return items.map { item in
            if hasCatchAll {
                reading.report(
                    "never used, because an earlier answer matches every request",
                    at: item
                )
            }
            let answer = answer(item)
            hasCatchAll = hasCatchAll || answer.path == nil && answer.methods.isEmpty
            return answer
        }
    }

    private func answer(_ node: ConfigNode) -> SampleAnswer {
        let section = Section<AnswerKey>(
            node,
            path: node.path,
            position: node.position,
            in: reading
        )
        if node.isNull { reading.report("expected a map, found nothing", at: node) }
        let answer = SampleAnswer(
            methods: section.list(.method, of: "a method such as GET", parse: TextRules.method),
            path: section.value(
                .path,
                expected: "a path such as /orders/*, without query",
                parse: TextRules.pathPattern
            ),
            delay: section.duration(.delay, atLeast: .zero, default: .zero),
            status: section.integer(.status, in: 200...599, default: 200),
            headers: HeaderRulesReader.fields(section[.headers], in: reading),
            content: content(of: section),
            fault: section[.fault] == nil
                ? nil : section.choice(.fault, default: .connectionRefused)
        )
        checkCoherence(of: answer, section)
        return answer
    }

    private func content(of section: Section<AnswerKey>) -> SampleAnswer.Content {
        if let file = section[.file] {
            if section[.body] != nil {
                reading.report("body and file cannot be used together", at: file)
            }
            guard let path = section.absolutePath(.file) else { return .none }
            reading.mention(.sample(path), at: file)
            return .file(path)
        }
        guard let body = section[.body] else { return .none }
        guard let text = body.text else {
            reading.report("expected a text; quote it, or use | for several lines", at: body)
            return .none
        }
        return .text(text)
    }

    private func checkCoherence(of answer: SampleAnswer, _ section: Section<AnswerKey>) {
        if [204, 304].contains(answer.status), answer.content != .none {
            reading.report(
                "an answer with status \(answer.status) cannot have a body",
                at: section.place(of: section[.body] == nil ? .file : .body)
            )
        }
        // A misspelt fault has been reported already.
        guard let fault = answer.fault, section[.fault]?.text == fault.rawValue,
            fault != .httpResponseIncomplete
        else { return }
        for key in [AnswerKey.status, .headers, .body, .file] {
            guard let node = section[key] else { continue }
            reading.report("there is no response with the fault \(fault.rawValue)", at: node)
        }
    }
}
