// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import FuzzKit

@testable import Netlink

/// Whatever a datagram of the kernel holds: its messages are understood, passed over or counted as malformed.
@main enum FuzzNetlink {
    static func main() {
        unsafe Fuzzer.run { start, count in
            FuzzNetlink.examine(unsafe UnsafeBufferPointer(start: start, count: count).span)
            return 0
        }
    }

    private static func examine(_ bytes: Span<UInt8>) {
        var decoder = EventDecoder()
        decoder.decode(bytes, from: nil)
        let counted = decoder.notices.count + decoder.statistics.ignored + decoder.statistics.undecodable
        require(counted <= bytes.count / MessageReader.headerLength + 1, "more messages than fit")
        for notice in decoder.drain() { require(!notice.type.description.isEmpty, "a message without a name") }
        var messages = MessageReader(bytes)
        while messages.advance() { decodeAnswer(messages.body) }
    }

    /// Answers to requests have no type of their own: the request says what they are.
    private static func decodeAnswer(_ body: Span<UInt8>) {
        _ = Link(decoding: body)
        _ = InterfaceAddress(decoding: body)
        _ = RouteEntry(decoding: body)
        _ = PolicyRule(decoding: body)
        _ = Nexthop(decoding: body)
        _ = Neighbor(decoding: body)
        _ = TCPConnection(decoding: body)
        _ = TCPCounters(parsing: body.array)
    }
}
