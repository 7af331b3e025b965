// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WebSocketWire

@Suite struct TextCheckTests {
    /// The bytes of one character in two, three and four bytes, at the edges of what UTF-8 allows.
    @Test(arguments: ["", "a", "ä", "\u{7FF}", "\u{800}", "\u{D7FF}", "\u{E000}", "\u{FFFF}", "😀", "\u{10FFFF}"])
    func `text in any pieces is text`(text: String) {
        let bytes = Array(text.utf8)
        for cut in 0...bytes.count {
            var check = TextCheck()
            let (first, second) = (check.accept(Array(bytes[..<cut])), check.accept(Array(bytes[cut...])))
            #expect(first && second && check.missing == 0)
        }
    }

    @Test(
        arguments: [
            [0x80], [0xBF], [0xC0], [0xC1], [0xF5], [0xFF], [0xC2, 0x41], [0xE0, 0x9F], [0xED, 0xA0], [0xF0, 0x8F],
            [0xF4, 0x90], [0xE2, 0x82, 0x28], [0xF0, 0x9F, 0x98, 0xC0], [0x61, 0xFE],
        ] as [[UInt8]]
    )
    func `what can no longer become text is refused at once`(bytes: [UInt8]) {
        var check = TextCheck()
        let isAccepted = check.accept(bytes)
        var earlier = TextCheck()
        let wasAccepted = earlier.accept(Array(bytes.dropLast()))
        #expect(wasAccepted && !isAccepted)
    }

    /// Against the standard library, for every text of two bytes and a sample of longer ones.
    @Test func `agrees with the standard library`() {
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max {
                compare([first, second])
                compare([0xE2, first, second])
                compare([0xF0, first, second, 0x80])
            }
        }
    }

    private func compare(_ bytes: [UInt8]) {
        var check = TextCheck()
        let isText = check.accept(bytes) && check.missing == 0
        let known = String(validating: bytes, as: UTF8.self) != nil
        if isText != known { Issue.record("\(bytes): \(isText), the standard library says \(known)") }
    }
}
