// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import Testing

@Suite struct CompoundFaultTests {
    @Test func `independent faults are all told, worst first`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.cutOff([.ipv6])
            evidence.application.clockOffset = .known(.seconds(3))
            var servers = evidence.dns.value ?? []
            servers[1].ipv4 = .silent
            servers[1].ipv6 = .silent
            servers[1].nonexistent = .silent
            servers[1].known = .silent
            evidence.dns = .known(servers)
            evidence.loseOnLink(50)
        }
        #expect(diagnosis.codes == [.ipv6Broken, .linkLoss, .dnsServerDead, .clockSkew])
        #expect(diagnosis.masked.isEmpty && diagnosis.severity == .broken)
    }

    @Test func `a flapping cable and a missing name server are two faults`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.links[0].carrierChanges = 3
            evidence.dns = .known([])
        }
        #expect(diagnosis.codes == [.dnsNoConfig, .linkFlapping])
    }

    @Test func `a flapping cable explains what is lost meanwhile`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.links[0].carrierChanges = 4
            evidence.loseOnLink(40)
            evidence.cutOff([.ipv6])
            var servers = evidence.dns.value ?? []
            servers[0].ipv6 = .silent
            evidence.dns = .known(servers)
        }
        #expect(diagnosis.codes == [.linkFlapping])
        #expect(Set(diagnosis.masked.map(\.verdict.code)) == [.linkLoss, .ipv6Broken, .dnsAAAATimeout])
        #expect(diagnosis.masked.allSatisfy { $0.cause == .linkFlapping })
    }

    @Test func `a portal and a flapping cable are two faults`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.links[0].carrierChanges = 3
            evidence.portal.checks = [.init(anchor: "a", status: 511)]
        }
        #expect(diagnosis.codes == [.captivePortal, .linkFlapping])
    }

    @Test func `a slow line behind a duplicate address is not judged, a wrong clock is`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.links[0].addresses[0].otherHolders = .known(["02:00:00:00:00:66"])
            evidence.performance.anchors = [Healthy.train("a", median: .milliseconds(700))]
            evidence.application.clockOffset = .known(.seconds(60))
        }
        #expect(diagnosis.codes == [.addressDuplicate, .clockSkew])
        #expect(diagnosis.masked.map(\.cause) == [.addressDuplicate])
    }

    @Test func `both families stopped by different causes hide what needs either`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.sending[0].route = .known(.discarded(type: "unreachable", text: "unreachable default"))
            evidence.gateways[1].hardwareAddresses = .known([])
            evidence.cutOff()
        }
        #expect(Set(diagnosis.codes) == [.routeBlackhole, .gatewayUnresolved])
        #expect(diagnosis.masked.map(\.verdict.code) == [.wanDown])
    }

    /// Every piece of evidence spoilt on its own and in pairs: nothing traps, and a fault always has a root.
    @Test func `whatever is broken, some root cause is left`() {
        let breaks: [(inout Evidence) -> Void] = [
            { $0.links = [] }, { $0.links[0].hasCarrier = false }, { $0.links[0].addresses = [] },
            { $0.sending[0].route = .known(.missing) }, { $0.loseGateways() }, { $0.cutOff() },
            { $0.cutOff([.ipv4]) }, { $0.dns = .known([]) }, { $0.portal.checks = [.init(anchor: "a", status: 511)] },
            { $0.application.clockOffset = .known(.seconds(99)) }, { $0.links[0].mtu = 68 },
            { $0.links[0].carrierChanges = 9 }, { $0.performance.gateway?.received = 1 },
        ]
        for first in breaks.indices {
            for second in breaks.indices {
                let diagnosis = Healthy.broken { evidence in
                    breaks[first](&evidence)
                    // What is gone cannot be spoilt once more.
                    if !evidence.links.isEmpty { breaks[second](&evidence) }
                }
                #expect(diagnosis.masked.isEmpty || !diagnosis.verdicts.isEmpty, "\(first) and \(second)")
                for masked in diagnosis.masked {
                    #expect(!diagnosis.verdicts.contains(masked.verdict), "\(first) and \(second)")
                }
            }
        }
    }
}

@Suite struct VerdictTextTests {
    @Test func `codes are lower case words with one dot, and unique`() {
        #expect(Set(VerdictCode.allCases.map(\.rawValue)).count == VerdictCode.allCases.count)
        for code in VerdictCode.allCases {
            let parts = code.rawValue.split(separator: ".")
            #expect(parts.count == 2 && code.rawValue.allSatisfy { $0.isLowercase || $0.isNumber || "-.".contains($0) })
        }
    }

    @Test func `layers and severities have an order`() {
        #expect(Layer.allCases == Layer.allCases.sorted() && Severity.allCases == Severity.allCases.sorted())
        #expect(Layer.link < .performance && Severity.info < .broken)
        #expect(Layer.ofNetwork + Layer.ofDestination == Layer.allCases && Layer.ofNetwork.last == .performance)
    }
}
