// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Netlink
import PathModel
import Testing

/// The matrix of rule S12: when a link could carry packets, and what keeps it from it.
@Suite struct LinkUsabilityTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        var flags: LinkFlags = [.up, .lowerUp, .running]
        var carrier: Bool? = true
        var state: OperationalState = .up
        var unusableReason: UnusableReason?
        var testDescription: String { name }
    }

    static let rows: [Row] = [
        Row(name: "Ethernet with a cable"),
        Row(name: "taken down by the administrator", flags: [], carrier: nil, state: .down, unusableReason: .linkDown),
        Row(name: "taken down, cable in", flags: .lowerUp, carrier: true, state: .down, unusableReason: .linkDown),
        Row(name: "cable out", flags: .up, carrier: false, state: .down, unusableReason: .noCarrier),
        Row(
            name: "veth whose peer is down",
            flags: .up,
            carrier: false,
            state: .lowerLayerDown,
            unusableReason: .lowerLayerDown
        ),
        Row(name: "tun with a process, unknown state", carrier: true, state: .unknown),
        Row(name: "tun without a process", flags: .up, carrier: false, state: .down, unusableReason: .noCarrier),
        Row(name: "wireguard, without a running flag", flags: [.up, .lowerUp, .noARP], carrier: true, state: .unknown),
        Row(
            name: "bridge that still says running",
            flags: [.up, .running],
            carrier: false,
            state: .up,
            unusableReason: .noCarrier
        ),
        Row(name: "fresh bridge, unknown state", carrier: true, state: .unknown),
        Row(
            name: "802.1X not done",
            flags: [.up, .lowerUp, .dormant],
            carrier: true,
            state: .dormant
        ),
        Row(name: "dormant mode, cable out", flags: .up, carrier: false, state: .dormant, unusableReason: .noCarrier),
        Row(name: "hardware gone", flags: .up, carrier: false, state: .notPresent, unusableReason: .notPresent),
        Row(name: "under test", carrier: true, state: .testing, unusableReason: .testing),
        Row(name: "no word on carrier, lower layer up", flags: [.up, .lowerUp], carrier: nil, state: .up),
        Row(
            name: "no word on carrier, lower layer down",
            flags: .up,
            carrier: nil,
            state: .up,
            unusableReason: .noCarrier
        ),
        Row(
            name: "no word on carrier, dormant",
            flags: [.up, .lowerUp],
            carrier: nil,
            state: .dormant
        ),
        Row(name: "carrier again, state still down", carrier: true, state: .down, unusableReason: .noCarrier),
    ]

    @Test(arguments: rows)
    func `a link is usable by flags, carrier and state (S12)`(row: Row) {
        let link = Link(
            index: 2,
            name: "x0",
            flags: row.flags,
            carrier: row.carrier,
            operationalState: row.state
        )
        #expect(link.unusableReason == row.unusableReason)
        #expect(link.isUsable == (row.unusableReason == nil))
    }

    @Test func `the running flag never decides (S12)`() {
        for row in Self.rows {
            var link = Link(index: 2, name: "x0", flags: row.flags, carrier: row.carrier, operationalState: row.state)
            link.flags.insert(.running)
            #expect(link.unusableReason == row.unusableReason)
            link.flags.remove(.running)
            #expect(link.unusableReason == row.unusableReason)
        }
    }

    @Test func `a dormant link carries traffic as long as it has an address, with a warning (S12)`() {
        var world = World.ordinary()
        var seen: [PathWarning] = []
        for state in [OperationalState.up, .dormant, .up] {
            world.change("eth0") { $0.operationalState = state }
            #expect(world.path().status == .satisfied)
            seen += world.path().warnings
        }
        #expect(seen == [.waitsForAuthentication])
    }
}
