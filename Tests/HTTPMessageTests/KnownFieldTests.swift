import NetproxyHTTPMessage
import Testing

@Suite struct KnownFieldTests {
    @Test(arguments: KnownField.allCases)
    func `every known field is found in any case`(_ field: KnownField) {
        for text in [field.text, field.text.lowercased(), field.text.uppercased()] {
            #expect(HTTPFieldName(text)?.known == field)
        }
        #expect(HTTPFieldName(field.text + "x")?.known == nil)
    }

    @Test func `the known fields fit in the bits of a section`() {
        #expect(KnownField.allCases.allSatisfy { $0.rawValue < 64 })
    }
}
