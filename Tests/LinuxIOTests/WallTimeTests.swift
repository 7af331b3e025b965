// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import TestSupport
import Testing

@Suite(.computing) struct WallTimeTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000000000Z"), (1_795_182_530_000_120_345, "2026-11-20T13:48:50.000120345Z"),
            (-1, "1969-12-31T23:59:59.999999999Z"), (951_782_400_000_000_000, "2000-02-29T00:00:00.000000000Z"),
            (4_107_542_399_000_000_000, "2100-02-28T23:59:59.000000000Z"),
            (4_107_542_400_000_000_000, "2100-03-01T00:00:00.000000000Z"),
        ] as [(Int64, String)]
    )
    func `writes and reads RFC 3339`(nanoseconds: Int64, text: String) {
        #expect(WallTime(nanoseconds: nanoseconds).description == text)
        #expect(WallTime(text)?.nanoseconds == nanoseconds)
    }

    @Test(arguments: [
        ("2026-11-20T13:48:50Z", "2026-11-20T13:48:50.000000000Z"),
        ("2026-11-20t15:48:50.5+02:00", "2026-11-20T13:48:50.500000000Z"),
        ("2026-11-20 08:18:50.123456789123-05:30", "2026-11-20T13:48:50.123456789Z"),
    ])
    func `reads offsets and short or long fractions`(text: String, expected: String) {
        #expect(WallTime(text)?.description == expected)
    }

    @Test(arguments: [
        "", "2026", "2026-11-20", "2026-11-20T13:48:50", "2026-13-20T13:48:50Z", "2026-11-20T24:48:50Z",
        "2026-11-20T13:48:50.Z", "2026-11-20T13:48:50Zx", "2026-11-20T13:48:50+2:00", "+026-11-20T13:48:50Z",
    ])
    func `refuses what is no time`(text: String) {
        #expect(WallTime(text) == nil)
    }

    @Test func `adds, subtracts and compares`() throws {
        let time = try #require(WallTime("2026-12-31T23:59:59.5Z"))
        let later = time + .milliseconds(500)
        #expect(later.description == "2027-01-01T00:00:00.000000000Z")
        #expect(later - time == .milliseconds(500))
        #expect(time < later)
        #expect(Duration.milliseconds(1500).seconds == 1.5)
        #expect(Duration.microseconds(1500).nanoseconds == 1_500_000)
    }

    @Test(arguments: [
        "2026-02-29T00:00:00Z", "2026-02-30T00:00:00Z", "2026-04-31T00:00:00Z", "2100-02-29T00:00:00Z",
        "2026-00-10T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-32T00:00:00Z",
    ])
    func `refuses days that the month does not have`(text: String) {
        #expect(WallTime(text) == nil)
    }

    @Test(arguments: ["2024-02-29T00:00:00Z", "2000-02-29T23:59:59Z", "2026-12-31T23:59:59Z", "2026-01-31T00:00:00Z"])
    func `takes the last days of months, leap days too`(text: String) {
        #expect(WallTime(text)?.description.hasPrefix(text.prefix(10)) == true)
    }

    @Test func `a leap second is the second after it`() throws {
        let leap = try #require(WallTime("2016-12-31T23:59:60Z"))
        #expect(leap == WallTime("2017-01-01T00:00:00Z"))
        #expect(WallTime("2016-12-31T23:59:61Z") == nil)
    }

    @Test(
        arguments: [
            ("+00:00", 0), ("-00:00", 0), ("+23:59", -86_340), ("-23:59", 86_340), ("z", 0), ("Z", 0),
        ] as [(String, Int64)]
    )
    func `offsets move the time the other way`(offset: String, seconds: Int64) throws {
        let time = try #require(WallTime("2026-11-20T12:00:00" + offset))
        let noon = try #require(WallTime("2026-11-20T12:00:00Z"))
        #expect(time - noon == .seconds(seconds))
    }

    @Test(arguments: ["+24:00", "+00:60", "+0100", "01:00", "+01", "+1:00", "", "Y"])
    func `other offsets are refused`(offset: String) {
        #expect(WallTime("2026-11-20T12:00:00" + offset) == nil)
    }

    @Test func `every day of three centuries and more comes back, one after the other`() throws {
        var time = try #require(WallTime("1900-01-01T00:00:00Z"))
        var previous = ""
        for _ in 0..<131_000 {
            let text = time.description
            // The text of a later day is a greater text: years have four digits.
            try #require(text > previous)
            try #require(WallTime(text) == time)
            previous = text
            time = time + .seconds(86_400)
        }
        #expect(previous.hasPrefix("2258-"))
    }

    @Test func `seconds since 1970 have a fraction, before it as well`() {
        #expect(WallTime(nanoseconds: 1_500_000_000).secondsSince1970 == 1.5)
        #expect(WallTime(nanoseconds: -500_000_000).secondsSince1970 == -0.5)
        #expect(WallTime(nanoseconds: 5) > WallTime(nanoseconds: 4))
        #expect(WallTime(nanoseconds: 0) - .seconds(1) == WallTime(nanoseconds: -1_000_000_000))
    }
}
