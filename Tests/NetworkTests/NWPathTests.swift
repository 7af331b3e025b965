// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
@testable import Network
import PathModel
import Testing

extension Path {
    /// A path by these interfaces, IPv4 only.
    static func satisfied(_ names: String..., type: InterfaceType = .wiredEthernet) -> Path {
        let interfaces = names.enumerated().map { PathInterface(name: $1, index: $0 + 2, type: type) }
        let family = FamilyPath(interfaces: Array(interfaces.prefix(1)), gateways: [], source: .v4(0xC000_0201))
        return Path(status: .satisfied, reason: nil, interfaces: interfaces, ipv4: family)
    }
}

@Suite struct NWPathTests {
    @Test func `shows a machine without a network`() {
        let path = NWPath(Path())
        #expect(path.status == .unsatisfied && path.unsatisfiedReason == .notAvailable)
        #expect(path.availableInterfaces.isEmpty && path.gateways.isEmpty)
        #expect(!path.supportsIPv4 && !path.supportsIPv6 && !path.supportsDNS)
        #expect(!path.isExpensive && !path.isConstrained && !path.isUltraConstrained)
        #expect(path.linkQuality == .unknown)
        #expect(path.localEndpoint == nil && path.remoteEndpoint == nil)
        #expect(NWInterface.InterfaceType.allCases.allSatisfy { !path.usesInterfaceType($0) })
        #expect(path.debugDescription == "unsatisfied (there is no network interface)")
    }

    @Test func `lists what is available and tells what is used`() {
        var model = Path.satisfied("eth0")
        model.interfaces.append(PathInterface(name: "wlan0", index: 3, type: .wifi))
        let path = NWPath(model)
        #expect(path.availableInterfaces.map(\.name) == ["eth0", "wlan0"])
        #expect(path.availableInterfaces.map(\.type) == [.wiredEthernet, .wifi])
        #expect(path.usesInterfaceType(.wiredEthernet))
        #expect(!path.usesInterfaceType(.wifi))
    }

    @Test func `under a tunnel it is the tunnel that is used`() {
        var model = Path.satisfied("wg0", type: .other)
        model.underlyingTypes = [.wifi]
        let path = NWPath(model)
        #expect(path.usesInterfaceType(.other) && !path.usesInterfaceType(.wifi))
        #expect(path.linuxUnderlyingTypes == [.wifi])
    }

    @Test func `names routers with port 0 and, where needed, the interface`() {
        var model = Path.satisfied("eth0")
        let router = RawAddress.v6(0xFE80 << 112 | 1)
        model.ipv4?.gateways = [Gateway(address: ScopedAddress(.v4(0xC000_02FE)), interface: "eth0", family: .ipv4)]
        model.ipv6 = model.ipv4
        model.ipv6?.gateways = [
            Gateway(address: ScopedAddress(router, scope: "eth0"), interface: "eth0", family: .ipv6)
        ]
        let gateways = NWPath(model).gateways
        #expect(gateways.map(\.debugDescription) == ["192.0.2.254:0", "fe80::1%eth0.0"])
        #expect(gateways.first == .hostPort(host: "192.0.2.254", port: .any))
        #expect(gateways.last?.interface?.index == 2)
    }

    @Test func `describes itself as log parsers expect`() {
        var model = Path.satisfied("eth0")
        model.ipv6 = model.ipv4
        model.dns.isUsable = true
        #expect(NWPath(model).debugDescription == "satisfied (Path is satisfied), interface: eth0, ipv4, ipv6, dns")
        model.isExpensive = true
        model.isConstrained = true
        model.ipv6 = nil
        let text = "satisfied (Path is satisfied), interface: eth0, ipv4, dns, expensive, constrained"
        #expect(NWPath(model).debugDescription == text)
        #expect(NWPath(Path(status: .requiresConnection, reason: nil)).status == .requiresConnection)
        let waiting = Path(status: .requiresConnection, reason: nil)
        #expect(NWPath(waiting).debugDescription == "requiresConnection (Connection required)")
        #expect(NWPath(Path(reason: nil)).debugDescription == "unsatisfied (No network route)")
    }

    @Test(
        arguments: [
            (.rfkillWifi, nil, .wifiDenied), (.rfkillWwan, nil, .cellularDenied),
            (.policy, "require_vpn", .vpnInactive),
            (.policy, "required_type wifi", .notAvailable), (.noDefaultRoute, nil, .notAvailable),
            (.noCarrier, nil, .notAvailable),
        ] as [(UnsatisfiedReason, String?, NWPath.UnsatisfiedReason)]
    )
    func `gives reasons in Apple's words`(
        reason: UnsatisfiedReason,
        demand: String?,
        expected: NWPath.UnsatisfiedReason
    ) {
        let path = NWPath(Path(reason: reason, subject: ReasonSubject(interface: "eth0", requirement: demand)))
        #expect(path.unsatisfiedReason == expected)
        #expect(path.linuxReason == reason.rawValue)
        #expect(path.linuxReasonText != nil)
    }

    @Test func `tells what Linux knows besides`() {
        let path = NWPath(Path(reason: .noCarrier, subject: ReasonSubject(interface: "eth0")))
        #expect(path.linuxReason == "no_carrier")
        #expect(path.linuxReasonText == "eth0 has no carrier")
        #expect(path.linuxHint == "check the cable, the switch port or the access point")
        var model = Path.satisfied("eth0")
        model.warnings = [.degraded]
        let good = NWPath(model)
        #expect(good.linuxReason == nil && good.linuxReasonText == nil && good.linuxHint == nil)
        #expect(good.linuxWarnings == ["degraded"])
        #expect(good.linuxIdentity == model.pathId && good.linuxIdentity.count == 16)
    }

    @Test(
        arguments: [
            (.unknown, .unknown), (.minimal, .minimal), (.moderate, .moderate), (.good, .good),
        ] as [(PathModel.LinkQuality, NWPath.LinkQuality)]
    )
    func `tells the quality of the link`(model: PathModel.LinkQuality, expected: NWPath.LinkQuality) {
        var path = Path.satisfied("wlan0", type: .wifi)
        path.linkQuality = model
        #expect(NWPath(path).linkQuality == expected)
    }

    @Test(arguments: NWInterface.InterfaceType.allCases)
    func `translates types both ways`(type: NWInterface.InterfaceType) {
        #expect(NWInterface.InterfaceType(type.modelType) == type)
        let path = NWPath(.satisfied("x0", type: type.modelType))
        #expect(path.availableInterfaces.first?.type == type && path.usesInterfaceType(type))
        #expect(path.availableInterfaces.first?.debugDescription == "x0")
    }

    @Test func `is equal when nothing material differs`() {
        #expect(NWPath(.satisfied("eth0")) == NWPath(.satisfied("eth0")))
        #expect(NWPath(.satisfied("eth0")) != NWPath(.satisfied("eth1")))
        #expect(NWPath(Path(), local: .unix(path: "/a")) != NWPath(Path()))
    }
}

@Suite struct PathQuestionTests {
    @Test func `every question has a name of its own`() {
        var questions = [PathQuestion(), PathQuestion(interface: "eth0"), PathQuestion(interface: "eth1")]
        for type in NWInterface.InterfaceType.allCases {
            questions.append(PathQuestion(requiredType: type))
            questions.append(PathQuestion(prohibitedTypes: [type]))
            questions.append(PathQuestion(requiredType: type, prohibitedTypes: [.wifi, .cellular], interface: "eth0"))
        }
        #expect(Set(questions.map(\.name)).count == questions.count)
        #expect(questions.allSatisfy { $0.policy.name == $0.name })
    }

    @Test func `becomes a monitor of the engine`() {
        #expect(PathQuestion().policy == MonitorPolicy())
        let policy = PathQuestion(requiredType: .wifi, prohibitedTypes: [.cellular], interface: "wlan0").policy
        #expect(policy.requiredType == .wifi)
        #expect(policy.prohibitedTypes == [.cellular])
        #expect(policy.outputInterface == "wlan0")
        #expect(policy.name == "required wifi, prohibited cellular, bound to wlan0")
    }
}
