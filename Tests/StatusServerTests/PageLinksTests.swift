// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusServer

@Suite struct PageLinksTests {
    private static let start = Duration.seconds(1000)

    @Test func `a link begins one session, which ends after an hour`() throws {
        var links = PageLinks()
        let secret = links.issue(at: Self.start)
        #expect(secret.count == 32 && secret.allSatisfy(\.isHexDigit))
        #expect(!links.isSession(secret, at: Self.start), "a link is no session")
        let redeemed = links.redeem(secret, at: Self.start + .seconds(59))
        let token = try #require(redeemed)
        #expect(token != secret)
        let again = [secret, token, ""].compactMap { links.redeem($0, at: Self.start + .seconds(59)) }
        #expect(again.isEmpty, "it counts once")
        #expect(links.isSession(token, at: Self.start + .seconds(3658)))
        #expect(!links.isSession(token, at: Self.start + .seconds(3659)))
        #expect(!links.isSession("", at: Self.start))
    }

    @Test func `a link that is older than a minute begins none`() {
        var links = PageLinks()
        let secret = links.issue(at: Self.start)
        let redeemed = links.redeem(secret, at: Self.start + .seconds(60))
        #expect(redeemed == nil)
    }

    @Test func `of many links the newest count`() {
        var links = PageLinks()
        let secrets = (0..<20).map { _ in links.issue(at: Self.start) }
        #expect(Set(secrets).count == 20)
        let redeemed = secrets.map { links.redeem($0, at: Self.start) != nil }
        #expect(redeemed == Array(repeating: false, count: 4) + Array(repeating: true, count: 16))
    }
}
