// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

@testable import Spelling
import Testing

@Suite struct NearestSpellingTests {
    @Test(arguments: [
        ("reqired", "required"), ("requierd", "required"), ("EXPENSIVE", "expensive"),
        ("ultra-constrained", "ultra_constrained"),
        ("expensiv", "expensive"), ("tpye", "type"),
    ])
    func `finds what was meant`(typed: String, meant: String) {
        let keys = ["type", "required", "expensive", "constrained", "ultra_constrained"]
        #expect(NearestSpelling.nearest(to: typed, among: keys) == meant)
    }

    @Test(arguments: ["", "x", "banana", "xy", String(repeating: "required", count: 1000)])
    func `stays silent when nothing is near`(typed: String) {
        #expect(NearestSpelling.nearest(to: typed, among: ["ok", "required", "type"]) == nil)
    }

    @Test(arguments: [
        ("", "", 0), ("", "abc", 3), ("abc", "", 3), ("ab", "ba", 1), ("kitten", "sitting", 3), ("a", "a", 0),
    ])
    func `counts typing errors`(left: String, right: String, expected: Int) {
        #expect(NearestSpelling.distance(Array(left.unicodeScalars), Array(right.unicodeScalars)) == expected)
        #expect(NearestSpelling.distance(Array(right.unicodeScalars), Array(left.unicodeScalars)) == expected)
    }
}

@Suite struct DurationTextTests {
    @Test(
        arguments: [
            ("0", .zero), ("0s", .zero), ("250ms", .milliseconds(250)), ("10s", .seconds(10)), ("5m", .seconds(300)),
            ("1h", .seconds(3600)), ("7d", .seconds(604_800)), ("3us", .microseconds(3)),
        ] as [(String, Duration)]
    )
    func `reads durations`(text: String, expected: Duration) {
        #expect(DurationText.parse(text) == expected)
    }

    @Test(arguments: [
        "", "10", "s", "-5s", "1.5s", "10 s", "10sec", "1h30m", "99999999999999999999s", "9223372036854775807d", "１s",
        "+1s",
    ])
    func `refuses what is not a duration`(text: String) {
        #expect(DurationText.parse(text) == nil)
    }

    @Test(
        arguments: [
            (.zero, "0"), (.milliseconds(1500), "1500ms"), (.seconds(90), "90s"), (.seconds(120), "2m"),
            (.seconds(86_400), "1d"),
            (.microseconds(-5), "-5us"), (.seconds(Int64.max), "9223372036854775807s"),
        ] as [(Duration, String)]
    )
    func `writes the largest unit without a fraction`(duration: Duration, expected: String) {
        #expect(DurationText.format(duration) == expected)
    }
}

@Suite struct ByteCountTests {
    @Test(arguments: [
        ("0", 0), ("4096", 4096), ("5B", 5), ("16KiB", 16384), ("10MiB", 10 << 20), ("1GiB", 1 << 30),
    ])
    func `reads sizes`(text: String, expected: Int) {
        #expect(ByteCount(text)?.bytes == expected)
    }

    @Test(arguments: [
        "", "MiB", "10M", "10MB", "-1", "1.5MiB", "10 MiB", "9999999999999999999", "9999999999GiB9", "9999999999999GiB",
    ])
    func `refuses what is not a size`(text: String) {
        #expect(ByteCount(text) == nil)
    }

    @Test(arguments: [(0, "0"), (1000, "1000"), (1024, "1KiB"), (1536, "1536"), (16 << 20, "16MiB"), (3 << 30, "3GiB")])
    func `writes the largest unit without a fraction`(bytes: Int, expected: String) {
        #expect(ByteCount(bytes: bytes).description == expected)
        #expect(ByteCount(expected)?.bytes == bytes)
    }
}
