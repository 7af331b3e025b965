// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

extension Dictionary where Key: Comparable {
    /// The entries in the order of their keys.
    ///
    /// Only keys are sorted: the sort of each kind of entry would be 4 kB of code.
    var inKeyOrder: [Element] { keys.sorted().compactMap { key in self[key].map { (key, $0) } } }
}
