import NetproxyHTTPMessage
import Testing

@Suite struct HTTPStatusTests {
    @Test(arguments: [-1, 0, 99, 1000])
    func `a status has three digits`(code: Int) {
        #expect(HTTPStatus(rawValue: code) == nil)
    }

    @Test(arguments: [
        (100, HTTPStatus.Class.informational), (199, .informational), (200, .successful),
        (299, .successful), (300, .redirection), (399, .redirection), (400, .clientError),
        (499, .clientError), (500, .serverError), (599, .serverError), (600, .unknown),
        (999, .unknown),
    ])
    func `the first digit determines the class`(code: Int, kind: HTTPStatus.Class) {
        #expect(HTTPStatus(rawValue: code)?.kind == kind)
    }

    @Test func `an unknown code has no reason phrase`() {
        #expect("\(HTTPStatus(404).reasonPhrase)" == "Not Found")
        #expect("\(HTTPStatus(299).reasonPhrase)".isEmpty)
    }
}
