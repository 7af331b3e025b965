// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Netlink
internal import PathModel

/// What messages of the ethtool family say about link modes (linux/ethtool_netlink.h).
enum WiredMessage {
    /// `ETHTOOL_MSG_LINKMODES_GET_REPLY`.
    static let answer: UInt8 = 4
    /// `ETHTOOL_MSG_LINKMODES_NTF`.
    static let notice: UInt8 = 5

    /// `ETHTOOL_MSG_LINKMODES_GET` (4) for one interface, with bit sets in few words.
    static func question(about index: UInt32, family: UInt16) -> Question {
        // In ETHTOOL_A_LINKMODES_HEADER (1, nested): ETHTOOL_A_HEADER_DEV_INDEX (1) and _FLAGS (3).
        var header = Question(type: 0, flags: 0, body: [])
        header.add(1, index)
        header.add(3, 1 as UInt32)
        var question = Question(family: family, command: 4)
        question.add(1 | 0x8000, header.body)
        return question
    }

    /// The speed (5, in Mbit/s) and duplex (6: 0 half, 1 full) of the requested interface, and what was offered.
    /// - Returns: `nil` where one of them is unknown or makes no sense, and for another interface's message.
    static func facts(_ message: GenericMessage, about index: UInt32) -> WiredFacts? {
        guard message.command == answer, message.attributes.nested(1).word(1) == index,
            let speed = message.attributes.word(5), (1...UInt32(Int32.max)).contains(speed),
            let duplex = message.attributes[6], duplex.count == 1, duplex[0] <= 1
        else { return nil }
        // ETHTOOL_A_LINKMODES_AUTONEG (2).
        let isNegotiated = message.attributes[2] != [0]
        return WiredFacts(
            megabits: Int(speed),
            isFullDuplex: duplex[0] == 1,
            isNegotiated: isNegotiated,
            offered: isNegotiated ? offered(message) : nil
        )
    }

    /// The greatest speed that this end (3) and the other one (4) offer.
    private static func offered(_ message: GenericMessage) -> Int? {
        let (own, other) = (modes(message.attributes.nested(3)), modes(message.attributes.nested(4)))
        return copper.filter { own.contains($0.bit) && other.contains($0.bit) }.map(\.megabits).max()
    }

    /// The bits of a compact set: `ETHTOOL_A_BITSET_VALUE` (4), in words of 32.
    private static func modes(_ set: GenericMessage.Attributes) -> Set<Int> {
        let bytes = set[4] ?? []
        return Set(
            (0..<bytes.count / 4).flatMap { word in
                let value = bytes.span.host32(at: 4 * word)
                return (0..<32).filter { value & 1 << UInt32($0) != 0 }.map { 32 * word + $0 }
            }
        )
    }

    /// `ETHTOOL_LINK_MODE_10baseT_Full_BIT` and those of the other speeds of twisted pairs (linux/ethtool.h).
    private static let copper: [(bit: Int, megabits: Int)] = [
        (1, 10), (3, 100), (5, 1000), (12, 10_000), (47, 2500), (48, 5000),
    ]
}
