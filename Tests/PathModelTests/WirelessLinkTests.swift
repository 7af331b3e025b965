// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Netlink
import PathModel
import Testing

/// What the state of a Wi-Fi link means for the path.
@Suite struct WirelessLinkTests {
    private static let name = Array("office-7".utf8)

    /// The ordinary machine, whose interface is a Wi-Fi station.
    private func world(_ facts: WirelessFacts = WirelessFacts(mode: 2, ssid: name, signal: -47)) -> World {
        var world = World.ordinary()
        world.facts.wireless[2] = facts
        return world
    }

    @Test func `a dormant station is not authorized: the kernel drops its data, whatever is configured (S12)`() {
        var world = world()
        world.change("eth0") { $0.operationalState = .dormant }
        let path = world.path()
        #expect(path.status == .unsatisfied && path.reason == .dormant && path.warnings.isEmpty)
        let text = ReasonText(.dormant, path.subject)
        #expect(text.clause == "eth0 is associated with office-7 but not authorized")
        #expect(text.hint?.hasPrefix("check the Wi-Fi passphrase") == true)
        world.change("eth0") { $0.operationalState = .up }
        #expect(world.path().status == .satisfied)
    }

    @Test func `a dormant cable still carries packets (S12)`() {
        var world = World.ordinary()
        world.change("eth0") { $0.operationalState = .dormant }
        #expect(world.path().status == .satisfied && world.path().warnings == [.waitsForAuthentication])
    }

    @Test(arguments: [true, false])
    func `a refused passphrase is the reason while it is tried and between (S22)`(isTried: Bool) {
        var facts = WirelessFacts(mode: 2)
        facts.refusal = WirelessFacts.Refusal(ssid: Self.name)
        var world = world(facts)
        world.change("eth0") { link in
            link.operationalState = isTried ? .dormant : .down
            link.carrier = isTried
        }
        let path = world.path()
        #expect(path.reason == .wifiAuthenticationFailed)
        let clause = "eth0 is rejected by office-7: wrong passphrase or credentials"
        #expect(ReasonText(.wifiAuthenticationFailed, path.subject).clause == clause)
        // What works is not refused, and what is down was not tried.
        world.change("eth0") { link in
            link.operationalState = .up
            link.carrier = true
        }
        #expect(world.path().status == .satisfied)
        world.change("eth0") { $0.flags = [] }
        #expect(world.path().reason == .linkDown)
    }

    @Test func `a station without an access point is told to look for one, not for a cable`() {
        var world = world(WirelessFacts(mode: 2))
        world.unplug("eth0")
        let text = world.path().reason.map { ReasonText($0, world.path().subject) }
        #expect(text?.clause == "eth0 is not associated with an access point")
        #expect(text?.hint?.hasPrefix("check the access point") == true)
    }

    @Test func `names and addresses of networks can be kept back`() throws {
        var facts = WirelessFacts(mode: 2, ssid: Self.name, signal: -47, bssid: [2, 0, 0, 0, 1, 0], frequency: 5180)
        facts.refusal = WirelessFacts.Refusal(ssid: Self.name)
        var world = world(facts)
        world.policy.redactsWifi = true
        world.change("eth0") { $0.operationalState = .dormant }
        let path = world.path()
        #expect(
            ReasonText(.dormant, path.subject).clause == "eth0 is associated with the access point but not authorized"
        )
        let link = try #require(world.state.links[2])
        let shown = try #require(InterfaceView(link, classifier: world.classifier).wifi)
        #expect(shown.ssid == nil && shown.network == nil && shown.bssid == nil && shown.refusal?.ssid == nil)
        #expect(shown.signal == -47 && shown.frequency == 5180 && shown.band == "5")
    }

    @Test(
        arguments: [(1, .wifi), (2, .wifi), (3, .other), (6, .other), (7, .wifi), (8, .wifi)]
            as [(UInt32, InterfaceType)]
    )
    func `members of a network are Wi-Fi, access points and monitors are not (S11)`(mode: UInt32, type: InterfaceType) {
        #expect(world(WirelessFacts(mode: mode)).classifier.type(of: 2) == type)
    }

    @Test(
        arguments: [
            (2412, "2.4"), (2484, "2.4"), (4920, "5"), (5885, "5"), (5955, "6"), (7115, "6"), (58_320, "60"),
            (900, nil),
        ] as [(Int, String?)]
    )
    func `a frequency is in a band`(frequency: Int, band: String?) {
        #expect(WirelessFacts(mode: 2, frequency: frequency).band == band)
    }

    @Test func `a name that is no text is shown by its bytes`() {
        #expect(WirelessFacts.text(of: [0xFF, 0x41]) == "0xff41")
        #expect(WirelessFacts.text(of: [0x41, 0x0A]) == "0x410a")
        #expect(WirelessFacts.text(of: Array("Café 7".utf8)) == "Café 7")
    }

    @Test func `another network and a roam are changes, the same network again is none`() throws {
        let world = world()
        let link = try #require(world.state.links[2])
        func view(_ change: (inout WirelessFacts) -> Void = { _ in }) -> InterfaceView {
            var view = InterfaceView(link, classifier: world.classifier)
            var facts = WirelessFacts(mode: 2, ssid: Self.name, bssid: [2, 0, 0, 0, 1, 0])
            change(&facts)
            view.wifi = facts
            return view
        }
        let lost = view { ($0.ssid, $0.bssid) = (nil, nil) }
        let other = view { ($0.ssid, $0.network) = ([0x41], [0x41]) }
        let weaker = view { $0.signal = -80 }
        let moved = view { ($0.bssid, $0.roams) = ([2, 0, 0, 0, 2, 0], 1) }
        #expect(SnapshotDiff.interface(from: view(), to: lost).isEmpty)
        #expect(SnapshotDiff.interface(from: lost, to: view()).isEmpty)
        #expect(SnapshotDiff.interface(from: view(), to: weaker).isEmpty)
        #expect(
            SnapshotDiff.interface(from: view(), to: other)
                == [.interfaceChanged(other, changed: [.wifi], previous: view())]
        )
        #expect(SnapshotDiff.interface(from: view(), to: moved) == [.interfaceRoamed(moved, previous: view())])
        #expect(SnapshotDiff.interface(from: moved, to: moved).isEmpty)
    }
}
