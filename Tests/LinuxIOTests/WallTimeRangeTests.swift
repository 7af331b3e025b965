// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import Testing

@Suite struct WallTimeRangeTests {
    @Test(arguments: ["0000-01-01T00:00:00Z", "1677-12-31T23:59:59Z", "2262-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
    func `refuses years that nanoseconds cannot hold`(text: String) {
        #expect(WallTime(text) == nil)
    }

    @Test(arguments: ["1678-01-01T00:00:00.000000000Z", "2261-12-31T23:59:59.999999999Z"])
    func `reads the first and the last year it can hold`(text: String) {
        #expect(WallTime(text)?.description == text)
    }
}
