// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Which interfaces have ever carried traffic: an interface that did is never ignored again as container plumbing.
public struct InterfaceMemory: Hashable, Sendable {
    /// The indexes of interfaces that were available or carried a default route at some time.
    public private(set) var everAvailable: Set<Int> = []

    public init() {}

    /// Remembers the interfaces of a path.
    /// - Returns: Interfaces that were not known before.
    public mutating func note(_ path: Path) -> Set<Int> {
        var new: Set<Int> = []
        for list in [path.interfaces, path.ipv4?.interfaces, path.ipv6?.interfaces] {
            for interface in list ?? [] where everAvailable.insert(interface.index).inserted {
                new.insert(interface.index)
            }
        }
        return new
    }

    /// Forgets interfaces that no longer exist; the kernel may give their index to another one.
    public mutating func forget(_ index: Int) {
        everAvailable.remove(index)
    }
}
