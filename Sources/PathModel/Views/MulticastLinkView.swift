// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Netlink

/// An interface on which neighbours can be spoken to by multicast.
public struct MulticastLinkView: Hashable, Sendable {
    public let link: Link
    /// The addresses that packets may come from now, IPv4 first.
    public let addresses: [AddressView]
}

extension InterfaceClassifier {
    /// The interfaces for browsing and advertising services, by rising index: up with a carrier, able to multicast,
    /// neither loopback nor a port nor on the ignore list, and wanted.
    public func multicastLinks(where isWanted: (Link) -> Bool = { _ in true }) -> [MulticastLinkView] {
        state.links.values.sorted { $0.index < $1.index }.compactMap { link in
            guard isUsable(link), link.flags.contains(.multicast), !isLoopback(link), !isEnslaved(link),
                !isListedIgnored(link), isWanted(link)
            else { return nil }
            let usable = (state.addresses[link.index] ?? []).filter {
                $0.value.flags.isDisjoint(with: [.tentative, .duplicateDetected])
            }
            let addresses = usable.map(AddressView.init).sorted { $0.sortKey < $1.sortKey }
            return MulticastLinkView(link: link, addresses: addresses)
        }
    }
}
