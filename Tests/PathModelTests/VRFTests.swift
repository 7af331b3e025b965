// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

/// Programs inside and outside of a VRF (rules S20, S29).
@Suite struct VRFTests {
    /// `e0` in the VRF `red`, whose table 10 has the default route.
    private func world() -> World {
        var world = World()
        world.link("red", 2, kind: "vrf") { $0.vrfTable = 10 }
        world.link("e0", 3) {
            $0.master = 2
            $0.portKind = "vrf"
        }
        world.add("192.0.2.10/24", on: "e0")
        world.rule(1000, table: 10) { $0.outputInterface = 2 }
        world.route("0.0.0.0/0", "e0", via: "192.0.2.1", table: 10)
        return world
    }

    private func clause(_ path: Path) -> String? { path.reason.map { ReasonText($0, path.subject).clause } }

    @Test func `a default route that leads into the VRF is open where sockets accept from it`() {
        var world = world()
        world.route("0.0.0.0/0", "red")
        world.table.acceptsFromVRFs = true
        let path = world.path()
        #expect(path.status == .satisfied && path.names == ["e0"])
        #expect(path.gatewayTexts == ["192.0.2.1"])
        world.unplug("e0")
        #expect(world.path().reason == .noCarrier && world.path().subject?.interface == "e0")
    }

    @Test func `without l3mdev_accept no reply is received`() {
        var world = world()
        world.route("0.0.0.0/0", "red")
        let path = world.path()
        #expect(path.reason == .noSourceAddress && path.subject?.obstacle == .repliesStay(in: "red"))
        #expect(clause(path) == "replies arrive in the VRF red, and sockets outside of it do not receive them")
    }

    @Test func `a route of the main table by an interface of the VRF is a leak as well`() {
        var world = world()
        world.route("0.0.0.0/0", "e0", via: "192.0.2.1")
        #expect(world.path().subject?.obstacle == .repliesStay(in: "red"))
        world.table.acceptsFromVRFs = true
        #expect(world.path().status == .satisfied)
    }

    @Test func `a VRF without a default route of its own`() {
        var world = world()
        world.route("0.0.0.0/0", "red")
        world.table.acceptsFromVRFs = true
        world.removeRoutes("0.0.0.0/0", table: 10)
        #expect(world.path().status == .unsatisfied)
        #expect(clause(world.path())?.hasSuffix("route leads into the VRF red, which has none") == true)
    }

    @Test func `an uplink that only programs in the VRF use`() {
        let path = world().path()
        #expect(path.reason == .noDefaultRoute && path.subject?.obstacle == .inVRF("red"))
        #expect(clause(path) == "e0 is in the VRF red, which only programs bound to it use")
    }

    @Test func `a process inside the VRF has its path, and its own explanation`() throws {
        var world = world()
        world.policy.boundInterface = "red"
        let path = world.path(world.policy.standardMonitor)
        #expect(path.status == .satisfied && path.names == ["e0"])
        var table = world.table
        table.state = world.state
        let rules = [
            PolicyRule(family: .ipv4, priority: 0, action: 1, table: 255, selector: "all"),
            PolicyRule(family: .ipv4, priority: 1000, action: 1, table: 0, selector: "l3mdev"),
            PolicyRule(family: .ipv4, priority: 32766, action: 1, table: 254, selector: "all"),
        ]
        let explainer = Explainer(
            ExplanationFacts(classifier: world.classifier, rules: rules, now: world.now),
            table: table
        )
        let explanation = try #require(explainer.explainInternet(.ipv4))
        #expect(explanation.broken == nil || explanation.broken?.element == .dns)
        #expect(explanation.steps.first?.text == "1000: from all lookup [l3mdev-table]")
        // Outside of it, the VRF is named.
        world.policy.boundInterface = nil
        let outside = Explainer(
            ExplanationFacts(
                classifier: world.classifier,
                rules: rules,
                defaults: try [#require(defaultRoute(of: table))],
                now: world.now
            ),
            table: table
        )
        let fault = try #require(outside.explainInternet(.ipv4)?.broken)
        #expect(fault.element == .table)
        #expect(fault.fault == "e0 is in the VRF red, which only programs bound to it use")
        #expect(fault.hint?.hasPrefix("`ip vrf exec red PROGRAM`") == true)
    }

    private func defaultRoute(of table: FakeTable) -> RouteEntry? {
        guard let answer = table.defaultRoutes(.ipv4, table: 10).first, let prefix = IPPrefix("0.0.0.0/0") else {
            return nil
        }
        return RouteEntry(destination: prefix, answer: answer)
    }
}
