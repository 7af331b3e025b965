// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import Testing

@Suite struct WallTimeTests {
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
}
