// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Who is in a session, who was named by whom, and who is to be called; pure.
///
/// A session is a symmetric mesh: everybody is connected with everybody. A new member learns whom the others are
/// connected with, and of two that learn of one another the one with the greater key calls.
struct Membership: Sendable {
    /// With oneself.
    static let maximum = 8

    let own: PeerKey
    /// Those that are connected, or about to be.
    private(set) var members: Set<PeerKey> = []
    private var named: [PeerKey: Set<PeerKey>] = [:]
    /// Those that a program has named itself.
    private var invited: Set<PeerKey> = []

    init(own: PeerKey) { self.own = own }

    var isFull: Bool { members.count >= Self.maximum - 1 }

    /// - Returns: `false` when it is full, or it is there already.
    mutating func add(_ key: PeerKey) -> Bool {
        guard key != own, !isFull || members.contains(key) else { return false }
        invited.remove(key)
        return members.insert(key).inserted
    }

    mutating func remove(_ key: PeerKey) {
        members.remove(key)
        named[key] = nil
    }

    /// Whether a peer may join that was not invited: a member named it, or the program did.
    func expects(_ key: PeerKey) -> Bool {
        invited.contains(key) || isNamed(key)
    }

    var count: Int { members.count }

    /// Whether a member is connected with it.
    func isNamed(_ key: PeerKey) -> Bool { named.contains { members.contains($0.key) && $0.value.contains(key) } }

    /// Whether the program named it, and it has not come.
    func isInvited(_ key: PeerKey) -> Bool { invited.contains(key) }

    mutating func expect(_ key: PeerKey) { invited.insert(key) }

    mutating func expectNoMore(_ key: PeerKey) { invited.remove(key) }

    /// Applies the list of a member's connections.
    /// - Returns: Those that are new, and ours to be called.
    mutating func receive(_ keys: Set<PeerKey>, from member: PeerKey) -> Set<PeerKey> {
        guard members.contains(member) else { return [] }
        let new = keys.subtracting(named[member] ?? [])
        named[member] = keys
        return new.filter { $0 < own && !members.contains($0) && $0 != own }
    }

    /// Whether it is ours to call this peer.
    func calls(_ key: PeerKey) -> Bool { key < own }
}
