// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
@testable import Netlink
import Testing

/// What aggregates, their ports, VRFs and WireGuard say of themselves.
@Suite struct LinkAggregateTests {
    private func link(_ information: Builder) -> Link? {
        let bytes = Builder.link(index: 7).attribute(3, "x0").attribute(4, 1500).attribute(18, information).bytes
        return Link(decoding: bytes.span)
    }

    @Test(
        arguments: [
            (1, 9, 0, 0, Bond(mode: 1, activePort: 9)), (1, 0, 100, 0, Bond(mode: 1, isMonitored: true)),
            (4, 9, 0, 200, Bond(mode: 4, activePort: 9, isMonitored: true)),
        ] as [(UInt8, UInt32, UInt32, UInt32, Bond)]
    )
    func `a bond tells its mode, its active port and whether it monitors`(
        mode: UInt8,
        active: UInt32,
        interval: UInt32,
        requests: UInt32,
        expected: Bond
    ) {
        let data = Builder().attribute(1, [mode]).attribute(2, active).attribute(3, interval).attribute(7, requests)
        #expect(link(Builder().attribute(1, "bond").attribute(2, data))?.bond == expected)
    }

    @Test func `an 802.3ad bond tells the aggregator in use, and its ports theirs`() {
        let data = Builder().attribute(1, [4]).attribute(3, 100).attribute(23, Builder().attribute(1, [2, 0]))
        #expect(link(Builder().attribute(1, "bond").attribute(2, data))?.bond?.aggregator == 2)
        let port = link(Builder().attribute(4, "bond").attribute(5, Builder().attribute(6, [1, 0])))
        #expect(port?.bondAggregator == 1)
        let bridge = link(
            Builder().attribute(1, "bridge").attribute(2, Builder().attribute(46, [4, 0, 0, 0, 7, 0, 0, 0]))
        )
        #expect(bridge?.hasMST == true)
    }

    @Test(arguments: [UInt8](0...5)) func `a port tells what its master lets it do`(state: UInt8) {
        let port = Builder().attribute(1, [state])
        let bridged = link(Builder().attribute(4, "bridge").attribute(5, port))
        #expect(bridged?.bridgePortState == BridgePortState(rawValue: state) && bridged?.isBondPortUp == nil)
        let status = Builder().attribute(1, [1]).attribute(2, [state])
        let bonded = link(Builder().attribute(4, "bond").attribute(5, status))
        #expect(bonded?.isBondPortUp == (state == 0) && bonded?.bridgePortState == nil)
    }

    @Test func `an HSR link tells its ports, a VRF its table`() {
        let pair = Builder().attribute(1, 4).attribute(2, 5)
        #expect(link(Builder().attribute(1, "hsr").attribute(2, pair))?.hsrPorts == [4, 5])
        #expect(link(Builder().attribute(1, "vrf").attribute(2, Builder().attribute(1, 10)))?.vrfTable == 10)
        // The same numbers mean other things elsewhere.
        #expect(link(Builder().attribute(1, "vlan").attribute(2, pair))?.hsrPorts == [])
    }

    // MARK: - WireGuard

    private static func allowed(_ prefixes: [String]) -> Builder {
        prefixes.enumerated().reduce(Builder()) { list, entry in
            let parts = entry.element.split(separator: "/")
            let address = IPAddress.of(String(parts[0]))
            let one = Builder().attribute(1, [address.family == .ipv4 ? 2 : 10, 0]).attribute(2, address.bytes)
                .attribute(3, [UInt8(parts[1]) ?? 0])
            return list.attribute(entry.offset, one)
        }
    }

    private static func peer(_ key: UInt8, endpoint: [UInt8] = [], _ prefixes: [String]) -> Builder {
        var peer = Builder().attribute(1, [UInt8](repeating: key, count: 32))
        if !endpoint.isEmpty { peer = peer.attribute(4, endpoint) }
        return peer.attribute(9, allowed(prefixes))
    }

    private static func device(_ messages: [Builder]) -> WireGuardDevice {
        var device = WireGuardDevice()
        var last: [UInt8] = []
        for message in messages { device.add(message.bytes.span, continuing: &last) }
        return device
    }

    private static let endpoint: [UInt8] = [2, 0, 0xCA, 0x6C, 198, 51, 100, 9, 0, 0, 0, 0, 0, 0, 0, 0]

    @Test func `a device over several messages is one`() {
        let first = Builder([0, 1, 0, 0]).attribute(7, 51820)
            .attribute(8, Builder().attribute(0, Self.peer(1, endpoint: Self.endpoint, ["10.0.0.0/8"])))
        let second = Builder([0, 1, 0, 0])
            .attribute(
                8,
                Builder().attribute(0, Self.peer(1, ["0.0.0.0/0"])).attribute(1, Self.peer(2, ["10.1.0.0/16"]))
            )
        let device = Self.device([first, second])
        #expect(device.mark == 51820 && device.peers.map(\.allowed.count) == [2, 1])
        #expect(device.answer(for: .of("192.0.2.1")) == .sent(to: .of("198.51.100.9"), by: nil, mark: 51820))
        #expect(device.answer(for: .of("10.2.0.1")) == .sent(to: .of("198.51.100.9"), by: nil, mark: 51820))
        #expect(device.answer(for: .of("10.1.0.1")) == .refused(.noEndpoint))
        #expect(device.answer(for: .of("2001:db8::1")) == .refused(.noPeer))
        // Where its own packets leave from another network namespace nothing is known of them.
        #expect(device.answer(for: .of("192.0.2.1"), isLocal: false) == .unknown)
        #expect(device.answer(for: .of("2001:db8::1"), isLocal: false) == .refused(.noPeer))
        #expect(WireGuardDevice().answer(for: .of("192.0.2.1")) == .refused(.noPeer))
    }

    @Test func `a link-local endpoint goes with its interface`() {
        let address: [UInt8] = [0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [9]
        let endpoint: [UInt8] = [10, 0, 0xCA, 0x6C, 0, 0, 0, 0] + address + [3, 0, 0, 0]
        let message = Builder([0, 1, 0, 0]).attribute(6, [0x6C, 0xCA])
            .attribute(8, Builder().attribute(0, Self.peer(1, endpoint: endpoint, ["::/0"])))
        let device = Self.device([message])
        #expect(device.port == 0xCA6C)
        #expect(device.answer(for: .of("2001:db8::1")) == .sent(to: .of("fe80::9"), by: 3, mark: 0))
    }

    @Test func `whatever is cut off is left out`() {
        let whole = Builder([0, 1, 0, 0]).attribute(7, 1)
            .attribute(8, Builder().attribute(0, Self.peer(1, endpoint: Self.endpoint, ["0.0.0.0/0", "::/0"])))
        for count in 0..<whole.bytes.count {
            let cut = Self.device([Builder(Array(whole.bytes.prefix(count)))])
            #expect(cut.peers.count <= 1)
        }
        let odd = Builder().attribute(1, [2, 0]).attribute(2, [1, 2, 3]).attribute(3, [99])
        let peer = Builder().attribute(1, [1]).attribute(4, [2, 0]).attribute(9, Builder().attribute(0, odd))
        let device = Self.device([Builder([0, 1, 0, 0]).attribute(8, Builder().attribute(0, peer))])
        #expect(device.peers == [WireGuardDevice.Peer()])
    }
}

/// The options of a team, as its daemon has set them.
@Suite struct TeamDeviceTests {
    private func device(_ options: [(name: String, data: [UInt8])]) -> TeamDevice {
        let list = options.reduce(Builder()) { list, option in
            list.attribute(1, Builder().attribute(1, option.name).attribute(3, [5]).attribute(4, option.data))
        }
        let message = Builder([2, 1, 0, 0]).attribute(1, 7).attribute(2, list)
        var device = TeamDevice()
        device.add(message.bytes.span)
        for count in 0..<message.bytes.count {
            var cut = TeamDevice()
            cut.add(Array(message.bytes.prefix(count)).span)
            #expect(cut.activePort == nil || cut.activePort == device.activePort)
        }
        return device
    }

    @Test func `a mode and an active port, or none of them`() {
        let name = Array("activebackup".utf8) + [0]
        #expect(
            device([("mode", name), ("activeport", [9, 0, 0, 0])]) == TeamDevice(mode: "activebackup", activePort: 9)
        )
        #expect(device([("activeport", [0, 0, 0, 0]), ("mode", name)]) == TeamDevice(mode: "activebackup"))
        #expect(device([("mode", Array("*NOMODE*".utf8) + [0])]) == TeamDevice())
    }
}
