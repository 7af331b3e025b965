// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Diagnosis

@Suite struct MeaningTests {
    @Test(arguments: VerdictCode.allCases)
    func `every code has texts of one clause`(code: VerdictCode) {
        for text in [code.meaning, code.test, code.action] {
            #expect(text.count >= 7 && text.count <= 110, "\(text)")
            #expect(!text.hasSuffix(".") && !text.contains("\n") && !text.contains("  "), "\(text)")
        }
        // "no fault" is what a note is.
        #expect((code.usualSeverity == .info) == (code.meaning.contains("no fault")), "\(code.meaning)")
    }

    @Test func `no two codes mean the same`() {
        #expect(Set(VerdictCode.allCases.map(\.meaning)).count == VerdictCode.allCases.count)
        let all = VerdictCode.allCases.map { [$0.meaning, $0.test, $0.action] }
        #expect(Set(all).count == all.count)
    }

    @Test func `what hides what is what a diagnosis does`() {
        #expect(VerdictCode.linkNone.hiddenBy.isEmpty && VerdictCode.linkNone.hides.contains(.dnsSlow))
        #expect(VerdictCode.wanDown.hides.contains(.trafficStalled))
        #expect(!VerdictCode.wanDown.hides.contains(.gatewayUnresolved))
        #expect(VerdictCode.clockSkew.hides == [.destinationCertificateDates])
        #expect(VerdictCode.ipv6Broken.hides.isEmpty)
        #expect(Set(VerdictCode.transportUDPBlocked.hides) == [.clockSkew, .transportQUICBlocked])
        for code in VerdictCode.allCases {
            #expect(code.hides.allSatisfy { $0.hiddenBy.contains(code) }, "\(code)")
            #expect(!code.hides.contains(code), "\(code)")
        }
    }
}
