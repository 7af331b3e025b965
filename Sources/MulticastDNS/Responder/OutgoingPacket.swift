// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

struct OutgoingPacket: Hashable, Sendable {
    enum Destination: Hashable, Sendable {
        /// To the group's address and port 5353.
        case group
        /// To one host: an answer to a legacy, direct or "unicast welcome" question.
        case host(IPAddress, port: UInt16)
    }

    var bytes: [UInt8]
    var destination = Destination.group
}
