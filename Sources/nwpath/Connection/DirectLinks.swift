// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CommandLineKit
internal import MulticastDNS
internal import Netlink
internal import PathModel
internal import Spelling

/// The interfaces on which a command speaks multicast DNS itself, as the kernel tells them.
final class DirectLinks {
    private let kernel: LiveKernel
    private let wanted: String?
    /// The name of the one interface, which may have been given by an alternative name; `nil` for all.
    private(set) var interface: String?

    /// Takes all interfaces, or one.
    /// - Throws: A failure when there is no netlink, or nothing to speak on.
    init(interface: String?) throws(CommandFailure) {
        wanted = interface
        do {
            kernel = try LiveKernel()
        } catch {
            throw CommandFailure("cannot ask the kernel: \(error)", .negative)
        }
        let found = try current()
        self.interface = interface.map { found.first?.name ?? $0 }
        guard found.isEmpty else { return }
        guard let interface else { throw CommandFailure("nothing to look on: no interface is up", .negative) }
        var reason = "nothing to look on: \(interface) does not exist, is down, or has no address"
        let names = try links().flatMap(\.names)
        if !names.contains(interface), let nearest = NearestSpelling.nearest(to: interface, among: names.sorted()) {
            reason += "; did you mean '\(nearest)'?"
        }
        throw CommandFailure(reason, .negative)
    }

    /// Those that are up, can multicast, are no ports, and have an address.
    func current() throws(CommandFailure) -> [MulticastInterface] {
        do throws(NetlinkError) {
            let addresses = Dictionary(grouping: try kernel.addresses().values, by: \.index)
            return try kernel.links().values.compactMap { link in
                wanted.map(link.isNamed) ?? true ? Self.interface(link, addresses[link.index] ?? []) : nil
            }
        } catch {
            throw CommandFailure("cannot ask the kernel: \(error)", .negative)
        }
    }

    private func links() throws(CommandFailure) -> [Link] {
        do throws(NetlinkError) {
            return try kernel.links().values
        } catch {
            throw CommandFailure("cannot ask the kernel: \(error)", .negative)
        }
    }

    private static func interface(_ link: Link, _ addresses: [InterfaceAddress]) -> MulticastInterface? {
        guard link.isUsable, link.flags.contains(.multicast), !link.flags.contains(.loopback),
            link.master == nil || link.portKind == "vrf"
        else { return nil }
        let usable = addresses.filter { $0.flags.isDisjoint(with: [.tentative, .duplicateDetected]) }
        guard !usable.isEmpty else { return nil }
        return MulticastInterface(
            index: link.index,
            name: link.name,
            addresses: usable.map { .init($0.address, prefixLength: $0.prefixLength) },
            mtu: link.mtu
        )
    }
}
