// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Netlink

/// The wired interfaces whose cables determine the quality of a path (rule S39).
public struct WiredLinks: Hashable, Sendable {
    /// How many are queried.
    public static let limit = 64

    /// The ones that work, by the order in which they matter.
    public var usable: [Int]
    /// The others; their last readings stay valid.
    public var idle: Set<Int>

    /// Names interfaces; none by default.
    public init(usable: [Int] = [], idle: Set<Int> = []) {
        self.usable = usable
        self.idle = idle
    }
}

extension InterfaceClassifier {
    /// The wired interfaces that a path may list, and cards that are ports of others: of those that work the ones that ever carried traffic come first, then
    /// those with an address, so that hundreds of containers keep no uplink from being queried.
    public var wiredLinks: WiredLinks {
        let wired = state.links.values.filter { link in
            isEligible(link) && type(of: link) == .wiredEthernet || isCable(link) && !isListedIgnored(link)
        }
        let usable = wired.filter(\.isUsable).map { link in
            let rank =
                memory.everAvailable.contains(link.index)
                ? 0 : state.routableInterfaces.contains(link.index) ? 1 : 2
            return (rank, link.index)
        }
        .sorted { $0 < $1 }.map(\.1)
        let selected = usable.prefix(WiredLinks.limit)
        return WiredLinks(usable: Array(selected), idle: Set(wired.map(\.index)).subtracting(selected))
    }
}
