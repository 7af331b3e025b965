// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink

/// Which of the machine's IPv6 addresses a packet would come from while no route is known (RFC 6724 section 5).
///
/// The kernel does this itself for every packet whose route is found first; here it is done for those that only routes
/// or rules for some sources match. Temporary addresses are treated as permanent ones.
struct SourceSelection {
    /// The addresses that could be chosen, best first.
    let candidates: [IPAddress]

    /// The address to choose.
    var best: IPAddress? { candidates.first }

    /// Considers all interfaces, or the one that packets are bound to.
    init(_ state: KernelState, for destination: IPAddress, by index: Int?) {
        var ranked: [(address: IPAddress, rank: Rank)] = []
        for (holder, list) in state.addresses where index == nil || holder == index {
            guard state.links[holder]?.flags.contains(.up) == true else { continue }
            for held in list {
                let value = held.value
                guard value.address.family == destination.family, !value.address.isLoopback,
                    !value.address.isMulticast, !value.flags.contains(.duplicateDetected), !value.isPending
                else { continue }
                ranked.append((value.address, Rank(value, destination)))
            }
        }
        candidates = ranked.sorted { $0.rank < $1.rank }.map(\.address)
    }

    /// What speaks for an address, the most important first; less is better.
    private struct Rank: Comparable {
        private let key: (Int, Int, Int, Int, Int)
        private let text: String

        init(_ held: InterfaceAddress, _ destination: IPAddress) {
            let address = held.address
            let isGlobal = !address.isLinkLocal
            key = (
                isGlobal == !destination.isLinkLocal ? 0 : 1,
                held.flags.contains(.deprecated) ? 1 : 0,
                Self.label(address) == Self.label(destination) ? 0 : 1,
                -min(address.commonPrefix(with: destination), held.prefixLength),
                held.index
            )
            text = "\(address)"
        }

        static func == (left: Rank, right: Rank) -> Bool { left.key == right.key && left.text == right.text }

        static func < (left: Rank, right: Rank) -> Bool {
            left.key == right.key ? left.text < right.text : left.key < right.key
        }

        /// The label of the kernel's default policy table, as far as it distinguishes sources.
        private static func label(_ address: IPAddress) -> Int {
            let bytes = address.bytes
            if address.isUniqueLocal { return 5 }
            switch (bytes[0], bytes[1], bytes[2], bytes[3]) {
            case (0x20, 0x02, _, _): return 2
            case (0x20, 0x01, 0, 0): return 6
            default: return 1
            }
        }
    }
}

extension IPAddress {
    /// How many leading bits both have in common.
    fileprivate func commonPrefix(with other: IPAddress) -> Int {
        var length = 0
        for (left, right) in zip(bytes, other.bytes) {
            let difference = left ^ right
            guard difference == 0 else { return length + difference.leadingZeroBitCount }
            length += 8
        }
        return length
    }
}
