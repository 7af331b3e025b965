// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import MulticastDNS
public import Netlink
internal import PathModel

extension EngineCore {
    /// The wanted interfaces among those on which services can be browsed for.
    public func multicastInterfaces(where isWanted: (Link) -> Bool = { _ in true }) -> [MulticastInterface] {
        classifier.multicastLinks(where: isWanted).map { view in
            MulticastInterface(
                index: view.link.index,
                name: view.link.name,
                alternativeNames: view.link.alternativeNames,
                addresses: view.addresses.map { .init($0.address, prefixLength: $0.prefixLength) },
                mtu: view.link.mtu,
                carrierChanges: view.link.carrierChanges
            )
        }
    }
}
