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

    /// The speed (5, in Mbit/s) and duplex (6: 0 half, 1 full) of the interface that was asked about.
    /// - Returns: `nil` where one of them is unknown or makes no sense, and for another interface's message.
    static func facts(_ message: GenericMessage, about index: UInt32) -> WiredFacts? {
        guard message.command == answer, message.attributes.nested(1).word(1) == index,
            let speed = message.attributes.word(5), (1...UInt32(Int32.max)).contains(speed),
            let duplex = message.attributes[6], duplex.count == 1, duplex[0] <= 1
        else { return nil }
        return WiredFacts(megabits: Int(speed), isFullDuplex: duplex[0] == 1)
    }
}
