// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Netlink
internal import PathModel

/// Reads what a driver counts of its MAC layer, over the kernel's ethtool family; needs no privilege.
///
/// The kernel resumes a card that sleeps for it.
struct MACStatistics: ~Copyable {
    private let family: UInt16
    private var socket: GenericSocket

    /// - Returns: `nil` where the kernel does not have the family.
    init?() throws(ProviderError) {
        socket = try GenericSocket()
        guard let family = socket.family("ethtool") else { return nil }
        self.family = family
    }

    /// Reads what is counted of one link; `nil` where its driver has no such counters, refuses, or is gone.
    mutating func read(_ index: Int) throws(ProviderError) -> MACCounters? {
        guard let number = UInt32(exactly: index) else { return nil }
        return Self.counters(try socket.reply(to: Self.request(number, family: family)), of: number)
    }

    /// `ETHTOOL_MSG_STATS_GET` (32) for the group `ETHTOOL_STATS_ETH_MAC` (1).
    static func request(_ index: UInt32, family: UInt16) -> Question {
        var header = Question(type: 0, flags: 0, body: [])
        header.add(1, index)
        // ETHTOOL_A_BITSET_NOMASK (1), _SIZE (2) and _VALUE (4).
        var groups = Question(type: 0, flags: 0, body: [])
        groups.add(1, [])
        groups.add(2, 2 as UInt32)
        groups.add(4, 1 << 1 as UInt32)
        // ETHTOOL_A_STATS_HEADER (2) and _GROUPS (3), nested.
        var request = Question(family: family, command: 32)
        request.add(2 | 0x8000, header.body)
        request.add(3 | 0x8000, groups.body)
        return request
    }

    /// What an `ETHTOOL_MSG_STATS_GET_REPLY` (33) has; `nil` without one of the counters, and for another link's message.
    static func counters(_ message: GenericMessage, of index: UInt32) -> MACCounters? {
        guard message.command == 33, message.attributes.nested(2).word(1) == index,
            let group = message.attributes[4]
        else { return nil }
        var counters: [UInt16: UInt64] = [:]
        var reader = AttributeReader(group.span)
        // ETHTOOL_A_STATS_GRP_STAT (4): each has one counter, whose kind is its number.
        while reader.advance() {
            guard reader.kind == 4 else { continue }
            for (kind, bytes) in GenericMessage.Attributes(attributesOf: reader.payload) where bytes.count == 8 {
                counters[kind] = bytes.span.host64(at: 0)
            }
        }
        // ETHTOOL_A_STATS_ETH_MAC_6_FCS_ERR, _7_ALIGN_ERR and _10_LATE_COL.
        let found = MACCounters(crcErrors: counters[4], frameErrors: counters[5], lateCollisions: counters[8])
        return found == MACCounters() ? nil : found
    }
}
