// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import TestSupport
import Testing

@testable import MulticastDNS

/// Machines that power up together under one name: what somebody who browses sees of them.
@Suite(.computing) struct CrowdTests {
    private func check(_ options: Crowd.Options, seeds: ClosedRange<UInt64>, within limit: Double) {
        var options = options
        for seed in seeds {
            options.seed = seed
            var crowd = Crowd(options)
            crowd.run(to: 12)
            let hasLostItsOwn = crowd.givenUp.contains(where: \.wasOwn)
            #expect(
                crowd.wrong.isEmpty == true && !hasLostItsOwn && crowd.lost.isEmpty,
                "seed \(seed): \(crowd.summary)"
            )
            let settled = crowd.settledSince ?? .infinity
            #expect(settled < limit, "seed \(seed)")
        }
    }

    @Test(arguments: [(2, 5), (6, 8), (12, 10)], [0, 0.05])
    func `machines of one host name are never shown at each other's addresses, and settle soon`(
        crowd: (machines: Int, limit: Double),
        loss: Double
    ) {
        var options = Crowd.Options()
        (options.machines, options.loss) = (crowd.machines, loss)
        check(options, seeds: 1...(crowd.machines > 6 ? 1 : 3), within: crowd.limit)
        guard crowd.machines <= 6 else { return }
        options.families = [.ipv4, .ipv6]
        check(options, seeds: 1...1, within: crowd.limit)
    }

    @Test(arguments: [(2, 5), (6, 8), (12, 10)], [0, 0.05])
    func `nor are those whose services have one name too`(crowd: (machines: Int, limit: Double), loss: Double) {
        var options = Crowd.Options()
        (options.machines, options.loss, options.services) = (crowd.machines, loss, .ofOneName)
        let seeds = 1...(crowd.machines > 6 ? 1 : 2) as ClosedRange<UInt64>
        check(options, seeds: seeds, within: crowd.limit)
        options.services = .alike
        check(options, seeds: seeds, within: crowd.limit)
    }
}
