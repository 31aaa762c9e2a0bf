import Foundation
import NetworkClient
import NetworkTesting
import Testing

/// Tests of values decoded from lines and events.
@Suite struct ValueStreamTests {
    private struct Item: Decodable, Sendable, Equatable {
        var itemName: String
    }

    private static var snake: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return decoder
    }

    private let stub = StubTransport()
    private let endpoint = PathEndpoint("/x", of: "https://a.example")

    private var manager: NetworkManager<PathEndpoint> {
        var channel = NetworkChannel.stubbed(stub)
        channel.decoder = Self.snake
        return NetworkManager(channel)
    }

    /// Compiles only if nothing but a `NetworkError` is thrown.
    private func read(
        _ stream: ResponseStream,
        using decoder: (any ContentDecoding)? = nil
    ) async throws(NetworkError) -> [String] {
        var seen: [String] = []
        for try await item in stream.values(of: Item.self, using: decoder) {
            seen.append(item.itemName)
        }
        return seen
    }

    @Test func `each line is a value at any piece boundary`() async throws {
        let text = #"{"item_name":"a"}"# + "\r\n\n \t\n" + #"{"item_name":"\#u{308}b"}"#
        let scalars = Array(text.unicodeScalars)
        for cut in 0...scalars.count {
            let pieces = [scalars[..<cut], scalars[cut...]].map { part in
                String(String.UnicodeScalarView(part))
            }
            stub.answer(.get, "/x", with: .pieces(pieces))
            #expect(try await read(manager.stream(endpoint)) == ["a", "\u{308}b"])
        }
    }

    @Test func `the error of an invalid line contains its number`() async throws {
        let lines = [#"{"item_name":"a"}"#, "", #"{"name":"secret"}"#, #"{"item_name":"b"}"#]
        stub.answer(.get, "/x", with: .pieces([lines.joined(separator: "\n")]))
        var values = try await manager.stream(endpoint).values(of: Item.self).makeAsyncIterator()
        #expect(try await values.next() == Item(itemName: "a"))
        let error = await #expect(throws: NetworkError.self) { try await values.next() }
        #expect(error?.kind == .undecodableResponse)
        #expect(error?.detail.hasPrefix("line 3 is no Item: 'itemName' is missing") == true)
        #expect(error?.underlying is DecodingError)
        #expect(try await values.next() == Item(itemName: "b"))
        #expect(try await values.next() == nil)
    }

    @Test func `an explicit decoder wins`() async throws {
        stub.answer(.get, "/x", with: .pieces([#"{"itemName":"a"}"#]))
        #expect(try await read(manager.stream(endpoint), using: JSONDecoder()) == ["a"])
        let options = CallOptions(decoder: JSONDecoder())
        #expect(try await read(manager.stream(endpoint, options: options)) == ["a"])
    }

    @Test func `truncated values throw after the received ones`() async throws {
        let cut = NetworkError(.httpResponseIncomplete, side: .upstream, detail: "cut")
        stub.answer(.get, "/x", with: .pieces([#"{"item_name":"a"}"# + "\n{"], then: cut))
        var values = try await manager.stream(endpoint).values(of: Item.self).makeAsyncIterator()
        #expect(try await values.next() == Item(itemName: "a"))
        let error = await #expect(throws: NetworkError.self) { try await values.next() }
        #expect(error?.kind == .httpResponseIncomplete)
    }

    @Test func `the data of an event is decoded like the content`() async throws {
        let sent = ServerSentEvent(data: #"{"item_name":"a"}"#)
        stub.answer(.get, "/x", with: .events([sent]))
        for try await event in try await manager.stream(endpoint).events {
            #expect(event == sent)
            #expect(try event.decode(Item.self) == Item(itemName: "a"))
        }
        for try await event in manager.events(endpoint).prefix(1) {
            #expect(try event.decode(Item.self) == Item(itemName: "a"))
            let error = #expect(throws: NetworkError.self) {
                try event.decode(Item.self, using: JSONDecoder())
            }
            #expect(error?.kind == .undecodableResponse)
            #expect(error?.detail == "the data of the event is no Item: 'itemName' is missing")
        }
        #expect(throws: NetworkError.self) { try sent.decode(Item.self) }
    }
}
