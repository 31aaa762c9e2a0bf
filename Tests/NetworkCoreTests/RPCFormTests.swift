import NetproxyHTTPMessage
import Testing

@testable import NetworkCore

@Suite struct RPCFormTests {
    @Test(
        arguments: [
            ("application/grpc", .native), ("application/grpc+proto", .native),
            ("Application/gRPC; charset=utf-8", .native), ("application/grpc-web", .web),
            ("application/grpc-web+proto", .web), ("application/grpc-web-text", .webText),
            ("application/grpc-web-text+proto", .webText), ("application/grpcx", nil),
            ("application/grpc-websocket", nil), ("application/json", nil), ("", nil),
        ] as [(String, RPCForm?)]
    )
    func `the content type determines the form of a call`(type: String, form: RPCForm?) {
        #expect(RPCForm(of: ["Content-Type": type]) == form)
        #expect(RPCForm(of: [:]) == nil)
    }

    @Test(arguments: [
        (text: "", isWhole: true, hasStatus: false), ("AAAAAAF4", true, false),
        ("AAAAAAE=eA==", true, false), ("AAAAAA", false, false), ("AAAAAAF4AAAA", false, false),
        ("AAAAAAA=", true, false), ("gAAAAAF4", true, true), ("AAAAAAF4gAAAAAF4", true, true),
        ("gAAAAAI=eA==", false, false),
    ])
    func `the boundaries of frames are known`(text: String, isWhole: Bool, hasStatus: Bool) {
        var frames = RPCFrames(.webText)
        for byte in text.utf8 { frames.advance(over: [byte].span) }
        #expect(frames.isAtBoundary == isWhole)
        #expect(frames.hasStatus == hasStatus)
    }

    @Test func `the frame of a status is the last one`() throws {
        let ending = RPCEnding(.unavailable, "100 % d\u{FC}nn")
        #expect(ending.fields["grpc-message"] == "100 %25 d%C3%BCnn")
        #expect(ending.frame(in: .native) == nil)
        for form in [RPCForm.web, .webText] {
            let frame = try #require(ending.frame(in: form))
            var frames = RPCFrames(form)
            frames.advance(over: frame.span)
            #expect(frames.hasStatus)
        }
    }
}
