// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import Addressing
internal import Netlink
internal import PathEngine
internal import PathModel

/// Reports which addresses of this machine can be used, as they come and go; confined to the thread of its engines.
package final class AddressFollower: PathFollower {
    /// An address, and its interface where it means nothing without.
    package struct Address: Hashable, Sendable {
        package let address: Addressing.IPAddress
        /// The index of a link-local address' interface; 0 for others.
        package let scope: UInt32
    }

    let question = PathQuestion()
    /// Those of interfaces that are up and have a carrier, loopback included.
    package private(set) var addresses: Set<Address> = []
    private let id = EngineThread.makeID()
    private unowned let engines: Engines
    private let onChange: (AddressFollower) -> Void
    private var isOver = false

    /// Begins to follow, until ``end()``; `onChange` is called when the addresses differ.
    package init(_ engines: Engines, onChange: @escaping (AddressFollower) -> Void) {
        self.engines = engines
        self.onChange = onChange
        engines.paths.subscribe(id, to: question) { _ in }
        engines.paths.follow(id, self)
        addresses = current
    }

    package func end() {
        guard !isOver else { return }
        isOver = true
        engines.paths.unfollow(id)
        engines.paths.unsubscribe(id)
    }

    func networkChanged() { linksChanged() }

    func linksChanged() {
        let current = current
        guard current != addresses else { return }
        addresses = current
        onChange(self)
    }

    private var current: Set<Address> {
        guard let state = engines.paths.core?.state else { return [] }
        var found: Set<Address> = []
        for (index, addresses) in state.addresses where state.links[index]?.isUsable == true {
            for held in addresses where held.value.flags.isDisjoint(with: [.tentative, .duplicateDetected]) {
                let address = held.value.address
                let scope = address.family == .ipv6 && address.isLinkLocal ? UInt32(index) : 0
                found.insert(Address(address: address, scope: scope))
            }
        }
        return found
    }
}
