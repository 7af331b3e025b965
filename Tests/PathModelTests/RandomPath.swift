// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import TestSupport

extension Path {
    /// A path of few possible values, so that equal ones meet often.
    static func random(using random: inout SeededRandom) -> Path {
        var path = Path()
        path.status = PathStatus.allCases.randomElement(using: &random) ?? .satisfied
        path.reason = path.status == .satisfied ? nil : [.noCarrier, .noAddress].randomElement(using: &random)
        path.subject = Bool.random(using: &random) ? nil : ReasonSubject(interface: "eth0")
        let interfaces = [
            PathInterface(name: "eth0", index: 2, type: .wiredEthernet),
            PathInterface(name: "wlan0", index: 3, type: .wifi),
        ]
        path.interfaces = Array(interfaces.shuffled(using: &random).prefix(Int.random(in: 0...2, using: &random)))
        path.ipv4 = family(.ipv4, ["192.0.2.1", "192.0.2.2"], interfaces, using: &random)
        path.ipv6 = family(.ipv6, ["fe80::1", "2001:db8::1"], interfaces, using: &random)
        path.dns.isUsable = Bool.random(using: &random)
        path.dns.search = Bool.random(using: &random) ? ["example.test"] : []
        path.isExpensive = Bool.random(using: &random)
        path.isConstrained = Bool.random(using: &random)
        path.linkQuality = Bool.random(using: &random) ? .good : .unknown
        path.warnings = Bool.random(using: &random) ? [.degraded] : []
        return path
    }

    /// The path with one thing changed, or none.
    func varied(using random: inout SeededRandom) -> Path {
        var path = self
        switch Int.random(in: 0..<12, using: &random) {
        case 0: path.status = path.status == .satisfied ? .unsatisfied : .satisfied
        case 1: path.reason = path.reason == nil ? .noCarrier : nil
        case 2: path.interfaces.reverse()
        case 3: path.isExpensive.toggle()
        case 4: path.isUltraConstrained.toggle()
        case 5: path.dns.servers.append(DNSServer(ScopedAddress(.v4(0x0808_0808))))
        case 6: path.linkQuality = .minimal
        case 7: path.ipv4?.gateways = []
        case 8: path.ipv6?.source = .v6(77 << 64)
        case 9: path.underlyingTypes = [.wifi]
        case 10: path.subject = ReasonSubject(interface: "eth0", table: 254)
        default: break
        }
        return path
    }

    private static func family(
        _ family: AddressFamily,
        _ gateways: [String],
        _ interfaces: [PathInterface],
        using random: inout SeededRandom
    ) -> FamilyPath? {
        guard Bool.random(using: &random), let text = gateways.randomElement(using: &random),
            let address = IPAddress(text), let interface = interfaces.randomElement(using: &random)
        else { return nil }
        let gateway = Gateway(
            address: ScopedAddress(address, scope: interface.name),
            interface: interface.name,
            family: family,
            metric: Bool.random(using: &random) ? 100 : 600,
            isReachable: [nil, true, false].randomElement(using: &random) ?? nil
        )
        let source: IPAddress = family == .ipv4 ? .v4(0xC000_020A) : .v6(10)
        return FamilyPath(interfaces: [interface], gateways: [gateway], source: source)
    }
}
