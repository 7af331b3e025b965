// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import Addressing
internal import CNetworkShims
internal import MulticastDNS

/// Where a peer may be reached, but for the port.
package struct PeerAddress: Hashable, Sendable {
    package var address: IPAddress
    /// The interface of a link-local address; 0 is none.
    package var scope: UInt32

    package init(_ address: IPAddress, scope: UInt32 = 0) {
        self.address = address
        self.scope = scope
    }

    init?(_ end: nwp_end) {
        let bytes = unsafe withUnsafeBytes(of: end.bytes) { unsafe Array($0.prefix(Int(end.length))) }
        guard let address = IPAddress(bytes: bytes.span) else { return nil }
        self.init(address, scope: end.scope)
    }

    /// Addresses sent by another host: a link-local one may be on any of our interfaces.
    static func expand(_ addresses: [IPAddress], scopes: [UInt32]) -> [PeerAddress] {
        addresses.flatMap { address in
            address.family == .ipv6 && address.isLinkLocal
                ? scopes.map { PeerAddress(address, scope: $0) } : [PeerAddress(address)]
        }
    }

    func end(port: UInt16) -> nwp_end {
        var end = nwp_end()
        let bytes = address.bytes
        unsafe withUnsafeMutableBytes(of: &end.bytes) { unsafe $0.copyBytes(from: bytes) }
        end.length = Int32(bytes.count)
        end.scope = address.isLinkLocal && bytes.count == 16 ? scope : 0
        end.port = port
        return end
    }

    /// Addresses of services as they were resolved, those that need no interface first.
    static func all(_ services: [Service]) -> [PeerAddress] {
        var found: [PeerAddress] = []
        for service in services {
            for scoped in service.addresses {
                let scope = scoped.address.isLinkLocal ? UInt32(service.interfaceIndex) : 0
                let address = PeerAddress(scoped.address, scope: scope)
                if !found.contains(address) { found.append(address) }
            }
        }
        return found.filter { !$0.address.isLinkLocal } + found.filter { $0.address.isLinkLocal }
    }
}
