// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CNetworkShims

/// One end of a socket: an address of the Internet with a port.
struct SocketEnd: Hashable, Sendable {
    /// The address.
    var address: RawAddress
    /// The index of the interface that a link-local IPv6 address is valid on; 0 is none.
    var scope: UInt32 = 0
    /// The port.
    var port: UInt16

    /// The family of the address.
    var family: AddressFamily { address.family }

    /// The unspecified address of a family, which stands for all of them.
    static func any(_ family: AddressFamily, port: UInt16) -> SocketEnd {
        SocketEnd(address: family == .ipv4 ? .v4(0) : .v6(0), port: port)
    }

    /// The end as programs see it.
    var endpoint: NWEndpoint {
        let interface = scope == 0 ? nil : NWInterface(index: Int(scope))
        return NWEndpoint(address, interface: interface, port: port)
    }
}

extension SocketEnd {
    /// The end of an endpoint that has an address; `nil` for names and whatever else is to be looked up.
    init?(_ endpoint: NWEndpoint) {
        guard case .hostPort(let host, let port) = endpoint else { return nil }
        switch host {
        case .name: return nil
        case .ipv4(let address): self.init(address: address.raw, port: port.rawValue)
        case .ipv6(let address):
            let scope = UInt32(address.interface?.index ?? 0)
            self.init(address: address.raw, scope: scope, port: port.rawValue)
        }
    }

    /// Reads what a shim filled in; `nil` when there is no address.
    init?(_ end: nwp_end) {
        var end = end
        let count = Int(end.length)
        let bytes = unsafe withUnsafeBytes(of: &end.bytes) { unsafe Array($0.prefix(count)) }
        guard let address = RawAddress(bytes: bytes.span) else { return nil }
        self.init(address: address, scope: end.scope, port: end.port)
    }

    /// The end as shims need it.
    var shim: nwp_end {
        var end = nwp_end()
        let bytes = address.bytes
        unsafe withUnsafeMutableBytes(of: &end.bytes) { unsafe $0.copyBytes(from: bytes) }
        end.length = Int32(bytes.count)
        end.scope = scope
        end.port = port
        return end
    }
}
