// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Netlink
internal import PathModel
internal import Providers

/// A network interface, as a path, an endpoint or a browse result names it.
///
/// Programs get interfaces from ``NWPath/availableInterfaces`` and the like; there is no initialiser for them.
public struct NWInterface: Hashable, Sendable {
    /// What an interface is.
    public enum InterfaceType: Hashable, Sendable, CaseIterable {
        /// A tunnel, a bridge without ports, or something unknown.
        case other
        /// A Wi-Fi station.
        case wifi
        /// A modem.
        case cellular
        /// A cable, real or virtual.
        case wiredEthernet
        /// The machine itself.
        case loopback
    }

    /// The radio technology of an interface.
    public enum RadioType: Hashable, Sendable {
        /// Wi-Fi, by the generation of IEEE 802.11.
        case wifi(WiFi)
        /// A mobile network, by the generation of 3GPP or 3GPP2.
        case cell(Cellular)

        /// The generations of IEEE 802.11.
        public enum WiFi: Hashable, Sendable, CaseIterable {
            /// 802.11a.
            case a
            /// 802.11b.
            case b
            /// 802.11g.
            case g
            /// 802.11n.
            case n
            /// 802.11ac.
            case ac
            /// 802.11ax.
            case ax
        }

        /// The generations of mobile networks.
        public enum Cellular: Hashable, Sendable {
            /// LTE.
            case lte
            /// 5G beside LTE, in this range of frequencies.
            case dualConnectivity5G(FrequencyRange)
            /// 5G by itself, in this range of frequencies.
            case standalone5G(FrequencyRange)
            /// WCDMA.
            case wcdma
            /// GSM.
            case gsm
            /// CDMA.
            case cdma
            /// EV-DO.
            case evdo

            /// The ranges of frequencies that 5G uses.
            public enum FrequencyRange: Hashable, Sendable, CaseIterable {
                /// Below 6 GHz.
                case sub6GHz
                /// Millimetre waves.
                case mmWave
            }
        }
    }

    /// What the interface is.
    public let type: InterfaceType
    /// The kernel's name, such as `eth0`.
    public let name: String
    /// The kernel's index.
    public let index: Int

    init(name: String, index: Int, type: InterfaceType) {
        self.name = name
        self.index = index
        self.type = type
    }

    init(_ interface: PathInterface) {
        self.init(name: interface.name, index: interface.index, type: InterfaceType(interface.type))
    }
}

extension NWInterface: CustomDebugStringConvertible {
    /// The name.
    public var debugDescription: String { name }
}

extension NWInterface.InterfaceType {
    init(_ type: PathModel.InterfaceType) {
        self =
            switch type {
            case .other: .other
            case .wifi: .wifi
            case .cellular: .cellular
            case .wiredEthernet: .wiredEthernet
            case .loopback: .loopback
            }
    }

    /// The type as the engines know it.
    var modelType: PathModel.InterfaceType {
        switch self {
        case .other: .other
        case .wifi: .wifi
        case .cellular: .cellular
        case .wiredEthernet: .wiredEthernet
        case .loopback: .loopback
        }
    }
}

extension NWInterface {
    /// Finds the interface of a name or, written as a number, of an index, in the namespace of the calling thread.
    /// - Returns: `nil` when there is none, or when the kernel cannot be queried.
    init?(named text: some StringProtocol) {
        let names = InterfaceNames.kernel
        guard let index = names.index(String(text)) ?? Int(text) else { return nil }
        self.init(index: index)
    }

    /// Finds the interface of an index, in the namespace of the calling thread.
    init?(index: Int) {
        guard let kernel = try? LiveKernel(), let links = try? kernel.links().values else { return nil }
        var state = KernelState()
        _ = state.replace(links: links, addresses: [], at: .zero)
        guard let link = state.links[index] else { return nil }
        let type = InterfaceClassifier(state: state).type(of: link)
        self.init(name: link.name, index: index, type: InterfaceType(type))
    }
}
