// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Configuration
import DNSWire
import MulticastDNS
import StatusServer
import Testing

@testable import PathService

@Suite struct ServiceFilterTests {
    @Test(
        arguments: [
            (nil, "Lamp", true), ("Lamp", "Lamp", true), ("lamp", "Lamp", true), ("L*", "Lamp", true),
            ("l*", "Lamp", false), ("*", "", true), ("Lam", "Lamp", false), ("L?mp", "Lamp", true),
            ("Printer [A1:B2]", "Printer [A1:B2]", true), ("Printer [A1:B2]", "Printer A", true),
            ("Printer*", "Printer [A1:B2]", true), ("a\\.b", "a.b", true), ("a.b", "a.b", true),
            ("x\ny", "x\ny", true), ("x\\010y", "x\ny", true), ("x*", "x\ny", true), ("ü", "Ü", false),
            ("ü*", "üa", true), ("back\\slash", "back\\slash", true), ("back\\\\slash", "back\\slash", true),
        ] as [(String?, String, Bool)]
    )
    func `names and patterns`(pattern: String?, name: String, isMatch: Bool) throws {
        guard !name.isEmpty else { return }
        #expect(try ServiceFilter(name: pattern).includes(made(name)) == isMatch)
    }

    @Test(arguments: ["", "a[b", "[", "[]"])
    func `what is neither name nor pattern is refused with 400`(pattern: String) {
        let problem = #expect(throws: Problem.self) { try ServiceFilter(name: pattern) }
        #expect(problem?.status == 400 && problem?.kind == .badParameter)
    }

    @Test(
        arguments: [
            ("_ipp._tcp", nil, true), ("_IPP._TCP", nil, true), ("_ipp", nil, false),
            ("_ssh._tcp,_ipp._tcp", nil, true),
            ("_ssh._tcp", nil, false), (nil, "eth0", true), (nil, "eth1", false), ("_ipp._tcp", "eth1", false),
        ] as [(String?, String?, Bool)]
    )
    func `types and interfaces`(type: String?, interface: String?, isMatch: Bool) throws {
        #expect(try ServiceFilter(type: type, interface: interface).includes(made("Lamp")) == isMatch)
    }

    @Test(
        arguments: [
            ("_ipp._tcp", true), ("_IPP._tcp", true), ("_ssh._tcp", false), ("_ipp._tcp/Lamp", true),
            ("_ipp._tcp/LAMP", true), ("_ipp._tcp/Lam", false), ("_ipp._tcp/L*", false),
        ]
    )
    func `a watched service is found by type and name`(text: String, isMatch: Bool) throws {
        #expect(try #require(WatchedService(text)).includes(made("Lamp")) == isMatch)
    }

    @Test(arguments: [("_ipp._tcp/a\\b", "a\\b"), ("_ipp._tcp/a\\\\b", "a\\b"), ("_ipp._tcp/x\\010y", "x\ny")])
    func `a watched name may be written as documents show it, or as it is`(text: String, name: String) throws {
        #expect(try #require(WatchedService(text)).includes(made(name)))
    }
}
