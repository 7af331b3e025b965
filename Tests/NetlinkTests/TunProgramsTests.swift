// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Netlink
import Testing

@Suite struct TunProgramsTests {
    @Test(
        arguments: [
            ("pos:\t0\nflags:\t02\nmnt_id:\t30\nino:\t9\niff:\ttun0\n", "tun0"), ("iff:\ttap-a", "tap-a"),
            ("pos:\t0\niff:\t\n", nil), ("iff:", nil), ("pos:\t0\nflags:\t02\n", nil), ("x iff:\ttun0\n", nil),
            ("", nil),
        ] as [(String, String?)]
    )
    func `the interface that a descriptor is attached to`(text: String, name: String?) {
        #expect(TunPrograms.interface(in: text) == name)
    }

    @Test func `an interface that nobody serves`() throws {
        #expect(try LiveKernel().tunnelProgram(named: "nobody-has-this") == .unknown)
    }
}
