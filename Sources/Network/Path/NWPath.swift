// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import PathModel

/// What the kernel would do with the packets of a program: whether they leave, by which interfaces, at what price.
public struct NWPath: Hashable, Sendable {
    /// Whether packets leave the machine.
    public enum Status: Hashable, Sendable, CaseIterable {
        /// They do.
        case satisfied
        /// They do not.
        case unsatisfied
        /// They do not, and something can be established on demand.
        case requiresConnection
    }

    /// Why a path is not satisfied.
    public enum UnsatisfiedReason: Hashable, Sendable, CaseIterable {
        /// There is no route, or the path is satisfied. ``NWPath/linuxReason`` says more.
        case notAvailable
        /// The cellular radio is switched off.
        case cellularDenied
        /// The Wi-Fi radio is switched off.
        case wifiDenied
        /// Access to the local network is denied; never on Linux.
        case localNetworkDenied
        /// A VPN is required and not active; never by default on Linux.
        case vpnInactive
    }

    /// How good the link of a path is; for initial values, not for deciding whether to connect.
    public enum LinkQuality: Hashable, Sendable, CaseIterable {
        /// Nothing is known.
        case unknown
        /// Barely works.
        case minimal
        /// Works.
        case moderate
        /// Works well.
        case good
    }

    /// Both ends of a connection: apart from the path, which every connection copies several times.
    private indirect enum Ends: Hashable, Sendable {
        case between(local: NWEndpoint?, remote: NWEndpoint?)
    }

    private let shared: SharedPath
    private let ends: Ends?
    var model: Path { shared.value }
    /// Where packets come from; on the paths of connections only.
    public var localEndpoint: NWEndpoint? { if case .between(let local, _) = ends { local } else { nil } }
    /// Where packets go to; on the paths of connections only.
    public var remoteEndpoint: NWEndpoint? { if case .between(_, let remote) = ends { remote } else { nil } }

    init(_ model: Path, local: NWEndpoint? = nil, remote: NWEndpoint? = nil) {
        self.init(SharedPath(model), local: local, remote: remote)
    }

    init(_ shared: SharedPath, local: NWEndpoint? = nil, remote: NWEndpoint? = nil) {
        self.shared = shared
        ends = local == nil && remote == nil ? nil : .between(local: local, remote: remote)
    }

    /// Whether packets leave the machine.
    public var status: Status {
        switch model.status {
        case .satisfied: .satisfied
        case .unsatisfied: .unsatisfied
        case .requiresConnection: .requiresConnection
        }
    }

    /// Why not, in Apple's words.
    public var unsatisfiedReason: UnsatisfiedReason {
        switch model.reason {
        case .rfkillWifi: .wifiDenied
        case .rfkillWwan: .cellularDenied
        case .policy where model.subject?.requirement == "require_vpn": .vpnInactive
        default: .notAvailable
        }
    }

    /// The interfaces that can carry traffic, best first.
    public var availableInterfaces: [NWInterface] { model.interfaces.map { NWInterface($0) } }
    /// Whether the traffic costs money.
    public var isExpensive: Bool { model.isExpensive }
    /// Whether programs should spare traffic.
    public var isConstrained: Bool { model.isConstrained }
    /// Whether programs should send next to nothing.
    public var isUltraConstrained: Bool { model.isUltraConstrained }
    /// Whether IPv4 packets leave.
    public var supportsIPv4: Bool { model.supportsIPv4 }
    /// Whether IPv6 packets leave.
    public var supportsIPv6: Bool { model.supportsIPv6 }
    /// Whether a name server can be queried.
    public var supportsDNS: Bool { model.supportsDNS }

    /// How good the link of the first interface is.
    public var linkQuality: LinkQuality {
        switch model.linkQuality {
        case .unknown: .unknown
        case .minimal: .minimal
        case .moderate: .moderate
        case .good: .good
        }
    }

    /// The routers in use, IPv4 first, each with port 0; empty on point-to-point links.
    public var gateways: [NWEndpoint] {
        model.gateways.map { gateway in
            let scope = gateway.address.scope.flatMap { name in usedInterfaces.first { $0.name == name } }
            return NWEndpoint(gateway.address.address, interface: scope.map { NWInterface($0) }, port: 0)
        }
    }

    /// Whether packets would leave by an interface of this type now.
    ///
    /// Interfaces that are available but not in use do not count, and under a tunnel it is the tunnel that is in use
    /// (``linuxUnderlyingTypes`` lists what carries it).
    public func usesInterfaceType(_ type: NWInterface.InterfaceType) -> Bool {
        usedInterfaces.contains { $0.type == type.modelType }
    }

    private var usedInterfaces: [PathInterface] {
        (model.ipv4?.interfaces ?? []) + (model.ipv6?.interfaces ?? [])
    }
}

extension NWPath: CustomDebugStringConvertible {
    /// Such as `satisfied (Path is satisfied), interface: eth0, ipv4, dns, expensive`.
    public var debugDescription: String {
        switch status {
        case .satisfied:
            let flags: [(Bool, String)] = [
                (supportsIPv4, "ipv4"), (supportsIPv6, "ipv6"), (supportsDNS, "dns"), (isExpensive, "expensive"),
                (isConstrained, "constrained"), (isUltraConstrained, "ultra constrained"),
            ]
            let interface = availableInterfaces.first.map { ["interface: \($0.name)"] } ?? []
            let words = interface + flags.filter(\.0).map(\.1)
            return (["satisfied (Path is satisfied)"] + words).joined(separator: ", ")
        case .unsatisfied: return "unsatisfied (\(linuxReasonText ?? "No network route"))"
        case .requiresConnection: return "requiresConnection (\(linuxReasonText ?? "Connection required"))"
        }
    }
}
