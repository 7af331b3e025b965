// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A peer as others know it: by its key, and by a name for people.
package struct PeerInfo: Hashable, Sendable {
    package let key: PeerKey
    package let name: String

    package init(key: PeerKey, name: String) {
        self.key = key
        self.name = name
    }

    /// The same key is the same peer, whatever it is called.
    package static func == (left: PeerInfo, right: PeerInfo) -> Bool { left.key == right.key }

    package func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
