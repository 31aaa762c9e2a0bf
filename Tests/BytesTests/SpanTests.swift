import Bytes
import Testing

@Suite struct SpanTests {
    @Test func `the first control byte is found at every place among all others`() {
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

    @Test func `no other byte is taken for a control byte`() {
        for byte in UInt8.min...UInt8.max {
            let bytes = [UInt8](repeating: byte, count: 11)
            let isControl = byte < 0x20 || byte == 0x7F
            #expect(bytes.span.firstControl(in: 0..<11) == (isControl ? 0 : 11))
            #expect(bytes.span.firstControl(in: 10..<11) == (isControl ? 10 : 11))
        }
    }

    @Test func `what is not visible is seen at every place`() {
        for byte in UInt8.min...UInt8.max {
            let isVisible = (0x21...0x7E).contains(byte) && byte != 0x23
            for length in [1, 7, 8, 9, 17] {
                for place in 0..<length {
                    // Neighbours at both ends of what is visible.
                    for other in [0x21, 0x22, 0x24, 0x7E] as [UInt8] {
                        var bytes = [UInt8](repeating: other, count: length)
                        bytes[place] = byte
                        #expect(bytes.span.isVisible(without: 0x23) == isVisible)
                    }
                }
            }
        }
    }

    @Test func `a byte is found from a start on`() {
        let bytes = Array("a:b:c".utf8)
        #expect(bytes.span.firstIndex(of: 0x3A, from: 0) == 1)
        #expect(bytes.span.firstIndex(of: 0x3A, from: 2) == 3)
        #expect(bytes.span.firstIndex(of: 0x3A, from: 4) == nil)
        #expect(bytes.span.string(in: 2..<5) == "b:c")
    }
}
