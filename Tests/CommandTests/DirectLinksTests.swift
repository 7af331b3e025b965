// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import MulticastDNS
import Netlink
import PathEngine
import Testing

@testable import nwpath

@Suite struct DirectLinksTests {
    /// An engine that knows `eth0`, alias `office`, up or not, with an address or without.
    private func core(isUp: Bool, hasAddress: Bool) -> EngineCore {
        var link = Link(index: 2, name: "eth0", alternativeNames: ["office"], flags: [.multicast])
        if isUp {
            link.flags.insert([.up, .lowerUp])
            link.carrier = true
            link.operationalState = .up
        }
        let address = InterfaceAddress(index: 2, address: .v4(0xC000_0201), prefixLength: 24)
        var core = EngineCore(EngineSettings())
        _ = core.replace(links: [link], addresses: hasAddress ? [address] : [], at: .seconds(1))
        return core
    }

    private func start(_ wanted: String?, waits: Bool, _ core: EngineCore) -> DirectLinks.Start {
        DirectLinks(wanted: wanted, waits: waits).start(of: core)
    }

    @Test(arguments: [nil, "eth0", "office"])
    func `what is up and has an address is spoken on`(wanted: String?) {
        let core = core(isUp: true, hasAddress: true)
        #expect(DirectLinks(wanted: wanted, waits: false).interfaces(of: core).map(\.name) == ["eth0"])
        #expect(start(wanted, waits: false, core) == .ready && start(wanted, waits: true, core) == .ready)
    }

    @Test(arguments: [(true, false), (false, true), (false, false)])
    func `what is not is waited for by those who have the time`(isUp: Bool, hasAddress: Bool) {
        let core = core(isUp: isUp, hasAddress: hasAddress)
        #expect(DirectLinks(wanted: nil, waits: true).interfaces(of: core) == [])
        #expect(start(nil, waits: true, core) == .waiting("no interface is up yet; waiting for one"))
        #expect(start("office", waits: true, core) == .waiting("office is down or has no address yet; waiting for it"))
        #expect(start(nil, waits: false, core) == .failed("no interface to use: no interface is up"))
        let reason = "no interface to use: eth0 does not exist, is down, or has no address"
        #expect(start("eth0", waits: false, core) == .failed(reason))
    }

    @Test(arguments: [true, false]) func `what does not exist is not waited for`(waits: Bool) {
        let reason = "no interface to use: eth1 does not exist, is down, or has no address; did you mean 'eth0'?"
        #expect(start("eth1", waits: waits, core(isUp: true, hasAddress: true)) == .failed(reason))
    }
}
