// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Testing

@testable import MulticastDNS

extension UnicastRateLimit {
    /// How many of these requests are allowed, each from the host of its number.
    fileprivate mutating func allowed(_ hosts: some Sequence<Int>, at seconds: Double) -> Int {
        hosts.count { allows(.v4(UInt32($0)), at: time(seconds)) }
    }
}

@Suite struct UnicastRateLimitTests {
    @Test func `one host gets ten answers at once, and ten a second from then on`() {
        var budget = UnicastRateLimit()
        #expect(budget.allowed(repeatElement(1, count: 100), at: 0) == 10)
        #expect(budget.allowed(repeatElement(1, count: 100), at: 0.5) == 5)
        #expect(budget.allowed(repeatElement(1, count: 100), at: 100) == 10)
    }

    @Test func `all hosts together get fifty, however many addresses are forged`() {
        var budget = UnicastRateLimit()
        #expect(budget.allowed(1...10_000, at: 0) == 50)
        #expect(budget.allowed(10_000...20_000, at: 1) <= 50)
    }

    @Test func `a loud host does not silence the others`() {
        var budget = UnicastRateLimit()
        _ = budget.allowed(repeatElement(1, count: 10_000), at: 0)
        #expect(budget.allowed([2], at: 0) == 1)
    }

    @Test func `C11: forged addresses cannot keep honest ones out for longer than a second`() {
        var budget = UnicastRateLimit()
        _ = budget.allowed(1...10_000, at: 0)
        #expect(budget.allowed([77_777], at: 1.1) == 1)
    }

    @Test func `a clock that steps back grants nothing`() {
        var budget = UnicastRateLimit()
        _ = budget.allowed(repeatElement(1, count: 100), at: 10)
        #expect(budget.allowed([1], at: 5) == 0)
    }
}
