// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

@testable import Spelling
import Testing

@Suite struct PrintableTextTests {
    @Test(arguments: [
        "", "plain", "Büro 東京", "a\\b", "👩‍👩‍👧", "e\u{301}", "\u{200C}\u{200D}", "~ !", "\u{A0}", "\u{FFFD}",
    ])
    func `harmless text stays as it is`(text: String) {
        #expect(PrintableText.escape(text) == text)
    }

    @Test(arguments: [
        ("a\nb", "a\\nb"), ("\r", "\\r"), ("\t", "\\t"), ("\u{0}", "\\u{0}"), ("\u{1B}[31m", "\\u{1B}[31m"),
        ("\u{7F}", "\\u{7F}"), ("\u{85}", "\\u{85}"), ("\u{9B}31m", "\\u{9B}31m"), ("\u{AD}", "\\u{AD}"),
        ("\u{200B}", "\\u{200B}"), ("\u{200E}x\u{200F}", "\\u{200E}x\\u{200F}"), ("\u{2028}", "\\u{2028}"),
        ("\u{2029}", "\\u{2029}"), ("\u{202E}txt.exe", "\\u{202E}txt.exe"), ("\u{2066}", "\\u{2066}"),
        ("\u{FEFF}", "\\u{FEFF}"), ("\u{E0041}", "\\u{E0041}"), ("\r\n", "\\r\\n"),
    ])
    func `what moves, colours, breaks or reorders is spelled out`(text: String, expected: String) {
        #expect(PrintableText.escape(text) == expected)
    }

    @Test func `no control character of any kind is left`() {
        let all = (0..<0x100 as Range<UInt32>).compactMap(Unicode.Scalar.init).reduce(into: "") {
            $0.unicodeScalars.append($1)
        }
        let escaped = PrintableText.escape(all)
        #expect(escaped.unicodeScalars.allSatisfy { !PrintableText.isUnsafe($0) })
        #expect(!escaped.contains("\n"))
    }

    @Test func `escaping twice changes nothing more`() {
        let once = PrintableText.escape("a\u{1B}\\\n\u{202E}")
        #expect(PrintableText.escape(once) == once)
    }

    @Test(arguments: [
        ("abc", 60, "'abc'"), ("", 60, "''"), ("abcdef", 3, "'abc…'"), ("abc", 3, "'abc'"), ("a\nb", 60, "'a\\nb'"),
        ("a\nbc", 2, "'a\\n…'"), ("👩‍👩‍👧👩‍👩‍👧", 1, "'👩‍👩‍👧…'"), ("it's", 60, "'it's'"), ("abc", 0, "'…'"),
    ])
    func `quoting cuts characters, not bytes`(text: String, limit: Int, expected: String) {
        #expect(PrintableText.quote(text, limit: limit) == expected)
    }

    @Test func `a substring is quoted without being copied first`() {
        #expect(PrintableText.quote("abc def".dropFirst(4)) == "'def'")
        #expect(PrintableText.quote(String(repeating: "x", count: 100)).count == 63)
    }
}

@Suite struct RoundTripTests {
    @Test func `every duration that can be written reads back`() {
        var value: Int64 = 1
        var duration = Duration.microseconds(1)
        while duration < .seconds(9_000_000_000) {
            for other in [duration, duration + .microseconds(1), duration * 3] where other < .seconds(9_000_000_000) {
                #expect(DurationText.parse(DurationText.format(other)) == other)
            }
            value &*= 7
            duration = duration * 7
        }
        #expect(value > 0)
    }

    @Test(
        arguments: [
            (.nanoseconds(999), "0"), (.nanoseconds(1999), "1us"), (.microseconds(1500), "1500us"),
            (.seconds(3599), "3599s"), (.seconds(3600), "1h"), (.seconds(86_399), "86399s"),
            (.seconds(-90), "-90s"), (.milliseconds(-1), "-1ms"),
        ] as [(Duration, String)]
    )
    func `durations are written whole, cut at microseconds`(duration: Duration, text: String) {
        #expect(DurationText.format(duration) == text)
    }

    @Test func `every size that can be written reads back`() {
        var bytes = 1
        while bytes < 1 << 58 {
            for other in [bytes, bytes + 1, bytes * 3, bytes << 2] {
                #expect(ByteCount(ByteCount(bytes: other).description)?.bytes == other)
            }
            bytes *= 5
        }
    }

    @Test func `sizes are made and compared`() {
        #expect(ByteCount.mebibytes(1).bytes == 1_048_576 && ByteCount.kibibytes(64).bytes == 65_536)
        #expect(ByteCount.kibibytes(1024) == .mebibytes(1))
        #expect(ByteCount.kibibytes(1023) < .mebibytes(1))
        #expect([ByteCount(bytes: 3), ByteCount(bytes: 1)].min()?.bytes == 1)
        #expect(ByteCount(bytes: -1024).description == "-1024")
    }

    @Test func `substrings are read as well`() {
        #expect(ByteCount("size=16KiB".dropFirst(5))?.bytes == 16_384)
        #expect(DurationText.parse("t=5m".dropFirst(2)) == .seconds(300))
    }
}

@Suite struct NearestSpellingEdgeTests {
    @Test func `the first of equals is suggested`() {
        #expect(NearestSpelling.nearest(to: "bat", among: ["cat", "rat", "hat"]) == "cat")
    }

    @Test func `a better one later wins`() {
        #expect(NearestSpelling.nearest(to: "requird", among: ["require", "required"]) == "require")
        #expect(NearestSpelling.nearest(to: "requirde", among: ["requires", "required"]) == "required")
    }

    @Test(arguments: ["", "a", "zz"])
    func `nothing is suggested for what shares nothing`(typed: String) {
        #expect(NearestSpelling.nearest(to: typed, among: ["b", "yy", ""]) == nil)
    }

    @Test func `texts that are too long are passed over on either side`() {
        let long = String(repeating: "a", count: 65)
        #expect(NearestSpelling.nearest(to: long, among: [long]) == nil)
        #expect(NearestSpelling.nearest(to: String(long.dropLast()), among: [long, String(long.dropLast())]) != nil)
        #expect(NearestSpelling.nearest(to: "aaa", among: []) == nil)
    }

    @Test(arguments: [("état", "etat", 1), ("🌐a", "a🌐", 1), ("abcd", "badc", 2), ("ca", "abc", 3)])
    func `letters count, not bytes, and swaps of neighbours once`(left: String, right: String, errors: Int) {
        #expect(NearestSpelling.distance(Array(left.unicodeScalars), Array(right.unicodeScalars)) == errors)
        #expect(NearestSpelling.distance(Array(right.unicodeScalars), Array(left.unicodeScalars)) == errors)
    }
}

@Suite struct ExpectationTests {
    @Test(arguments: ["250ms", "10s", "5m", "1h", "7d"])
    func `the durations that messages show are durations`(text: String) {
        #expect(DurationText.expectation.contains(text))
        #expect(DurationText.parse(text).map(DurationText.format) == text)
    }

    @Test(arguments: ["4096", "16KiB", "10MiB", "1GiB"])
    func `the sizes that messages show are sizes`(text: String) {
        #expect(ByteCount.expectation.contains(text))
        #expect(ByteCount(text) != nil)
    }

    @Test(arguments: ["eth0", "wl*", "en[op]*"])
    func `the patterns that messages show are patterns`(text: String) {
        #expect(Glob.expectation.contains(text))
        #expect(Glob(text)?.matches("eth0") == (text == "eth0"))
    }
}

@Suite struct LimitOfTextTests {
    @Test func `a text of any length is escaped whole`() {
        let text = String(repeating: "\n", count: 10_000)
        #expect(PrintableText.escape(text).utf8.count == 20_000)
    }
}
