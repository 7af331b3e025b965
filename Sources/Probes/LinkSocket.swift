// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CLinuxShims
internal import Glibc
internal import LinuxIO

/// The sockets that speak to a whole link, each in the calls of its kind.
extension LinkProtocol {
    var family: AddressFamily {
        switch self {
        case .arp, .dhcp: .ipv4
        case .neighborDiscovery, .routerDiscovery: .ipv6
        case .multicastDNS(let family): family
        }
    }

    func open(_ interface: UInt32) throws(SocketFailure) -> FileDescriptor {
        let result =
            switch self {
            case .arp: nwp_arp_open(interface)
            case .neighborDiscovery: nwp_neighbor_open(interface)
            case .routerDiscovery: nwp_router_open(interface)
            case .dhcp: nwp_lease_open(interface)
            case .multicastDNS(let family): nwp_multicast_open(family.rawFamily, interface)
            }
        guard result >= 0 else { throw SocketFailure(error: Errno(result), step: .socket) }
        let descriptor = FileDescriptor(owning: result)
        guard case .multicastDNS(let family) = self else { return descriptor }
        let code = nwp_multicast_join(result, family.rawFamily, interface)
        guard code >= 0 else { throw SocketFailure(error: Errno(code), step: .socket) }
        return descriptor
    }

    func send(_ bytes: UnsafeRawBufferPointer, from descriptor: Int32, on interface: UInt32) -> Int {
        let start = bytes.baseAddress
        let count = bytes.count
        return switch self {
        case .arp: unsafe nwp_arp_broadcast(descriptor, interface, start, count)
        case .neighborDiscovery(let group):
            unsafe nwp_neighbor_send(descriptor, interface, group.bytes, start, count)
        case .routerDiscovery:
            unsafe nwp_neighbor_send(descriptor, interface, RouterAdvertisement.group.bytes, start, count)
        case .dhcp: unsafe nwp_lease_broadcast(descriptor, interface, start, count)
        case .multicastDNS(let family):
            unsafe Int(nwp_multicast_send(descriptor, family.rawFamily, interface, start, count))
        }
    }

    /// Receives one packet; what arrived by another interface, or from another port than that of the protocol, is empty.
    /// - Returns: Its length, or a negative errno.
    func receive(
        into buffer: UnsafeMutableRawBufferPointer,
        from descriptor: Int32,
        on interface: UInt32,
        _ packet: inout ReceivedPacket
    ) -> Int {
        switch self {
        case .arp, .neighborDiscovery, .dhcp:
            return unsafe ProbeSocket.receive(into: buffer, from: descriptor, &packet)
        case .routerDiscovery:
            var hopLimit: Int32 = -1
            packet.source = [UInt8](repeating: 0, count: 16)
            let count = unsafe nwp_router_receive(
                descriptor,
                buffer.baseAddress,
                buffer.count,
                &hopLimit,
                &packet.source
            )
            packet.hopLimit = Int(hopLimit)
            return count
        case .multicastDNS(let family):
            var datagram = nwp_datagram()
            let count = unsafe nwp_multicast_receive(descriptor, buffer.baseAddress, buffer.count, &datagram)
            let length = family == .ipv4 ? 4 : 16
            packet.source = unsafe withUnsafeBytes(of: &datagram.source) { unsafe Array($0.prefix(length)) }
            let isForeign = datagram.interface != interface || datagram.port != 5353
            return count < 0 ? Int(count) : isForeign ? 0 : Int(count)
        }
    }
}
