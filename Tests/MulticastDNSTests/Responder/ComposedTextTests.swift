// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import MulticastDNS

/// Rule N3: names are published in Unicode normalization form C.
@Suite struct ComposedTextTests {
    @Test(arguments: [
        "", "Lamp", "Büro", "日本語", "각", "Ångström", "q\u{301}", "\u{1EB9}\u{301}", "👩‍👩‍👧", "\u{915}\u{93C}", "\u{301}",
        "e\u{327}\u{323}x", "\r\n",
    ])
    func `N3: what is composed stays`(text: String) {
        let isOrdered = text != "e\u{327}\u{323}x"
        #expect(ComposedText.isComposed(text) == isOrdered)
        if isOrdered { #expect(ComposedText.compose(text).map(scalars) == scalars(text)) }
    }

    @Test(
        arguments: [
            ("Bu\u{308}ro", [0x42, 0xFC, 0x72, 0x6F]), ("\u{212B}", [0xC5]), ("\u{2126}", [0x3A9]),
            ("\u{1100}\u{1161}\u{11A8}", [0xAC01]), ("\u{AC00}\u{11A8}", [0xAC01]), ("\u{3051}\u{3099}", [0x3052]),
            ("a\u{301}\u{323}", [0x1EA1, 0x301]), ("q\u{301}\u{323}", [0x71, 0x323, 0x301]),
            ("\u{958}", [0x915, 0x93C]), ("\u{9C7}\u{9BE}", [0x9CB]), ("\u{344}", [0x308, 0x301]),
        ] as [(String, [UInt32])]
    )
    func `N3: what is not composed becomes so, or is refused`(text: String, expected: [UInt32]) {
        #expect(!ComposedText.isComposed(text))
        let composed = ComposedText.compose(text)
        #expect(composed == nil || composed.map(scalars) == expected, "\(composed.map(scalars) ?? [])")
        #expect(composed != nil || text == "\u{958}" || text == "\u{344}")
    }

    @Test func `N3: a mark that has to move into a letter with another one is refused rather than wrong`() {
        #expect(ComposedText.compose("\u{E9}\u{323}") == nil && !ComposedText.isComposed("\u{E9}\u{323}"))
        #expect(ComposedText.compose("a" + String(repeating: "\u{323}\u{301}", count: 9)) == nil)
    }

    /// Python's tables are the judge.
    @Test func `N3: says the same as another implementation of Unicode, for random texts`() throws {
        var random = RandomSource(seed: 11)
        let pool: [UInt32] = [
            0x61, 0x41, 0x65, 0x71, 0xE9, 0xFC, 0x1EA1, 0x300, 0x301, 0x308, 0x323, 0x327, 0x212B, 0x1100, 0x1161,
            0x11A8,
            0xAC00, 0x915, 0x93C, 0x9C7, 0x9BE, 0x3B1, 0x345, 0x342, 0x4E2D, 0x200D, 0x5D0, 0x5B8, 0x1F600,
        ]
        let texts = (0..<2000).map { _ in
            (0..<Int.random(in: 1...5, using: &random)).compactMap { _ in
                pool.randomElement(using: &random)
            }
        }
        let script =
            "import sys, unicodedata\nfor line in sys.stdin:\n  text = ''.join(chr(int(w, 16)) for w in line.split())\n"
            + "  print(' '.join('%x' % ord(c) for c in unicodedata.normalize('NFC', text)))"
        let input = texts.map { $0.map { String($0, radix: 16) }.joined(separator: " ") + "\n" }.joined()
        let lines = try Command.run(["python3", "-c", script], input: input).split(separator: "\n")
        #expect(lines.count == texts.count)
        var refused = 0
        for (values, line) in zip(texts, lines) {
            let text = string(values)
            let expected = line.split(separator: " ").compactMap { UInt32($0, radix: 16) }
            #expect(ComposedText.isComposed(text) == (values == expected), "\(values)")
            if let composed = ComposedText.compose(text) {
                #expect(scalars(composed) == expected, "\(values)")
            } else {
                refused += 1
            }
        }
        #expect(refused < texts.count / 4)
    }

    private func string(_ values: [UInt32]) -> String {
        var text = ""
        text.unicodeScalars.append(contentsOf: values.compactMap { Unicode.Scalar($0) })
        return text
    }

    private func scalars(_ text: String) -> [UInt32] { text.unicodeScalars.map(\.value) }
}
