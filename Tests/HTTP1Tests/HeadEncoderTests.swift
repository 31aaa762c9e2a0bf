import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage
import Testing

@Suite struct HeadEncoderTests {
    private func written(_ body: (OutputBuffer) -> Void) -> String {
        let output = OutputBuffer()
        body(output)
        return String(decoding: output.span.array, as: UTF8.self)
    }

    private func request(_ method: HTTPMethod, _ framing: BodyFraming) -> String {
        written {
            HeadEncoder.encodeRequest(
                method: method,
                target: "/",
                host: "a",
                headers: [:],
                framing: framing,
                into: $0
            )
        }
    }

    @Test func `a request head contains the framing of its body`() {
        #expect(request(.get, .none) == "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(request(.post, .none) == "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
        #expect(
            request(.put, .length(7)) == "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\n\r\n"
        )
        #expect(
            request(.put, .chunked)
                == "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
    }

    @Test func `fields that the encoder writes are not duplicated`() {
        let headers: HTTPHeaders = [
            "Host": "evil", "X-A": "1", "Content-Length": "9", "Transfer-Encoding": "chunked",
            "Connection": "x", "X-B": "2", "Keep-Alive": "5",
        ]
        let text = written {
            HeadEncoder.encodeRequest(
                method: .get,
                target: "/",
                host: "a",
                headers: headers,
                framing: .none,
                connection: .close,
                hopFields: ["TE": "trailers"],
                into: $0
            )
        }
        #expect(
            text
                == "GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nX-B: 2\r\nConnection: close\r\nTE: trailers\r\n\r\n"
        )
    }

    @Test func `a response without a length closes the connection`() {
        let text = written {
            HeadEncoder.encodeResponse(status: 200, headers: [:], framing: .untilClose, into: $0)
        }
        #expect(text == "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    }

    @Test func `the response to HEAD announces a length`() {
        let text = written {
            HeadEncoder.encodeResponse(
                status: 200,
                headers: [:],
                framing: .none,
                announcedLength: 9,
                connection: .kept(seconds: 5),
                into: $0
            )
        }
        #expect(
            text
                == "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nKeep-Alive: timeout=5\r\n"
                + "Connection: keep-alive\r\n\r\n"
        )
    }

    @Test func `an interim response has no framing`() {
        let text = written {
            HeadEncoder.encodeInformational(
                status: 103,
                headers: ["Link": "a", "Content-Length": "3"],
                into: $0
            )
        }
        #expect(text == "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n")
    }

    @Test func `a status without a usual reason phrase keeps its space`() {
        let text = written {
            HeadEncoder.encodeResponse(status: 299, headers: [:], framing: .length(0), into: $0)
        }
        #expect(text.hasPrefix("HTTP/1.1 299 \r\n"))
    }

    @Test(arguments: [
        (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
        (951_868_799, "Tue, 29 Feb 2000 23:59:59 GMT"),
        (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        (1_798_761_599, "Thu, 31 Dec 2026 23:59:59 GMT"),
    ])
    func `a date is encoded in the format of HTTP fields`(seconds: UInt64, expected: String) {
        let text = written {
            HeadEncoder.encodeResponse(
                status: 200,
                headers: ["X": "y"],
                date: seconds,
                framing: .length(0),
                into: $0
            )
        }
        #expect(
            text == "HTTP/1.1 200 OK\r\nX: y\r\nDate: \(expected)\r\nContent-Length: 0\r\n\r\n"
        )
    }

    @Test func `encoded chunks can be decoded`() {
        let text = written {
            BodyWriter.chunkHeader(count: 11, into: $0)
            $0.append("hello world")
            BodyWriter.chunkEnd(into: $0)
            BodyWriter.lastChunk(trailers: ["X-Sum": "1", "Content-Length": "5"], into: $0)
        }
        #expect(text == "b\r\nhello world\r\n0\r\nX-Sum: 1\r\n\r\n")
        let body = Replay.body(Array(text.utf8), at: [], HTTP1Limits(), framing: .chunked).value
        #expect(body == Replay.Body(content: Array("hello world".utf8), trailers: ["X-Sum": "1"]))
    }

    @Test func `an encoded request decodes to the same request`() throws {
        let raw = Array(
            "PUT /a?b HTTP/1.1\r\nhost: a:81\r\nX-One:1\r\nX-Two: \u{E9}\r\nx-one:\t2 \r\nContent-Length: 3\r\n\r\n"
                .utf8
        )
        let head = try #require(Replay.request(raw, at: [], HTTP1Limits()).value)
        let output = OutputBuffer()
        HeadEncoder.encodeRequest(
            method: head.method,
            target: "\(head.target)",
            host: "a:81",
            headers: head.headers,
            framing: head.framing,
            into: output
        )
        let again = try #require(
            Replay.request(output.span.array, at: [], HTTP1Limits()).value
        )
        #expect(again.method == head.method)
        #expect(again.target == head.target)
        #expect(again.framing == head.framing)
        #expect(again.host == head.host)
        #expect(again.headers == head.headers)
    }

    @Test func `an encoded response decodes to the same response`() throws {
        let headers: HTTPHeaders = ["X-One": "1", "ETag": "\"a\"", "x-one": "2"]
        let output = OutputBuffer()
        HeadEncoder.encodeResponse(status: 206, headers: headers, framing: .chunked, into: output)
        let outcome = Replay.response(
            output.span.array,
            at: [],
            HTTP1Limits(),
            answering: .get
        )
        var again = try #require(outcome.value)
        #expect(again.status == 206)
        #expect(again.framing == .chunked)
        again.headers.remove(HTTPFieldName.transferEncoding)
        #expect(again.headers == headers)
    }
}
