import NetproxyBytes
import Testing

@Suite struct SpanTests {
    @Test func `the first control byte is found at every position`() {
        for control in [0x00, 0x09, 0x0A, 0x0D, 0x1F, 0x7F] as [UInt8] {
            for length in 1..<20 {
                for place in 0..<length {
                    var bytes = [UInt8](repeating: 0x20, count: length)
                    bytes[place] = control
                    if place + 1 < length { bytes[place + 1] = 0x7F }
                    #expect(bytes.span.firstControl(in: 0..<length) == place)
                    #expect(bytes.span.firstControl(in: 0..<place) == place)
                }
            }
        }
    }

    @Test func `no other byte is treated as a control byte`() {
        for byte in UInt8.min...UInt8.max {
            let bytes = [UInt8](repeating: byte, count: 11)
            let isControl = byte < 0x20 || byte == 0x7F
            #expect(bytes.span.firstControl(in: 0..<11) == (isControl ? 0 : 11))
            #expect(bytes.span.firstControl(in: 10..<11) == (isControl ? 10 : 11))
        }
    }

    @Test(arguments: [0x00, 0x3A, 0x7F, 0x80, 0xFF] as [UInt8])
    func `a byte is found at every position among similar bytes`(byte: UInt8) {
        for other in [byte ^ 0x01, byte ^ 0x80, byte &+ 1, byte &- 1] {
            for length in 0..<50 {
                var bytes = [UInt8](repeating: other, count: length)
                #expect(place(of: byte, in: bytes, from: 0) == nil)
                for place in 0..<length {
                    bytes[place] = byte
                    #expect(self.place(of: byte, in: bytes, from: 0) == place)
                    #expect(self.place(of: byte, in: bytes, from: place) == place)
                    #expect(self.place(of: byte, in: bytes, from: place + 1) == nil)
                    bytes[place] = other
                }
            }
        }
    }

    private func place(of byte: UInt8, in bytes: [UInt8], from start: Int) -> Int? {
        bytes.span.firstIndex(of: byte, from: start)
    }

    private func isToken(_ bytes: [UInt8], named name: [UInt8]) -> Bool {
        bytes.span.isToken(named: name.span)
    }

    @Test func `a name matches in any case and differs in every byte`() {
        let all = Array("x-keep-alive-0123456789-abcdefgh".utf8)
        let bytes = (UInt8.min...UInt8.max).filter { $0 >= 0x20 && $0 != 0x7F }
        for length in 0...all.count {
            let name = Array(all.prefix(length))
            #expect(isToken(name, named: name))
            #expect(!isToken(name + [0x61], named: name))
            for place in 0..<length {
                var other = name
                for byte in bytes {
                    other[place] = byte
                    let isUpper = (0x41...0x5A).contains(byte)
                    let isSame = (isUpper ? byte + 0x20 : byte) == name[place]
                    guard isToken(other, named: name) != isSame else { continue }
                    Issue.record("\(byte) at \(place) of \(length)")
                }
            }
        }
    }

    @Test(arguments: [
        ("close", true), ("CLOSE", true), ("cloSe", true), ("clos", false), ("closed", false),
        ("clo\u{53}f", false), ("", false), ("xlose", false), ("c-ose", false),
    ])
    func `a literal matches a range`(text: String, isFound: Bool) {
        let bytes = Array("<\(text)>".utf8)
        let (found, nothing) = (
            bytes.span.equals("close", in: 1..<(bytes.count - 1)), bytes.span.equals("", in: 1..<1)
        )
        #expect(found == isFound)
        #expect(nothing)
    }

    @Test func `an invisible byte is found at every position`() {
        for byte in UInt8.min...UInt8.max {
            let isVisible = (0x21...0x7E).contains(byte) && byte != 0x23
            for length in [1, 7, 8, 9, 17] {
                for place in 0..<length {
                    // Bytes at both ends of the visible range.
                    for other in [0x21, 0x22, 0x24, 0x7E] as [UInt8] {
                        var bytes = [UInt8](repeating: other, count: length)
                        bytes[place] = byte
                        #expect(bytes.span.isVisible(without: 0x23) == isVisible)
                    }
                }
            }
        }
    }

    @Test func `the search for a byte begins at the start index`() {
        let bytes = Array("a:b:c".utf8)
        #expect(bytes.span.firstIndex(of: 0x3A, from: 0) == 1)
        #expect(bytes.span.firstIndex(of: 0x3A, from: 2) == 3)
        #expect(bytes.span.firstIndex(of: 0x3A, from: 4) == nil)
        #expect(bytes.span.string(in: 2..<5) == "b:c")
    }
}

@Suite struct StringByteTests {
    @Test(arguments: [
        ("/orders?page=2", false), ("/moved?page=2", false), ("/moved", false), ("?", false),
        ("", false),
        ("/a?method=x", true), ("/a?x?M", true), ("/a?%6d", true),
        ("/a-target-that-no-small-string-holds?and-another-one=%41", true),
    ])
    func `a byte is found only after the mark`(text: String, isThere: Bool) {
        let found = text.hasByte(after: UInt8(ascii: "?")) { $0 | 0x20 == 0x6D || $0 == 0x25 }
        #expect(found == isThere)
    }
}
