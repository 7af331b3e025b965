// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import PeerEngine

extension DatagramCodec {
    mutating func sealed(_ message: [UInt8]) throws -> [[UInt8]] {
        let datagrams = seal(message)
        return try #require(datagrams)
    }

    mutating func probed() throws -> [UInt8] {
        let datagram = probe()
        return try #require(datagram)
    }

    mutating func acknowledged() throws -> [UInt8] {
        let datagram = acknowledgement()
        return try #require(datagram)
    }

    mutating func sealedPlaintext(_ plaintext: [UInt8]) throws -> [UInt8] {
        let datagram = sealPlaintext(plaintext)
        return try #require(datagram)
    }
}

/// Both ends of a connection.
struct DatagramEnds {
    static let keys = [[UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32)]
    static let tags: [UInt32] = [0x01_0203, 0xFF_FFFE]

    var left: DatagramCodec
    var right: DatagramCodec

    init(counter: UInt64 = 0) throws {
        let (keys, tags) = (Self.keys, Self.tags)
        left = try #require(
            DatagramCodec(
                sendingKey: keys[0],
                receivingKey: keys[1],
                sendingTag: tags[0],
                receivingTag: tags[1],
                counter: counter
            )
        )
        right = try #require(
            DatagramCodec(sendingKey: keys[1], receivingKey: keys[0], sendingTag: tags[1], receivingTag: tags[0])
        )
    }

    /// What `right` makes of a fragment with any head.
    mutating func sendFragment(
        _ number: UInt32,
        _ index: UInt8,
        _ count: UInt8,
        _ content: [UInt8] = [7]
    ) throws
        -> DatagramCodec.Opened
    {
        let head = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
        let datagram = try left.sealedPlaintext([2] + head + [index, count] + content)
        return right.open(datagram, at: .zero)
    }

    /// What `right` makes of a plaintext.
    mutating func send(_ plaintext: [UInt8]) throws -> DatagramCodec.Opened {
        right.open(try left.sealedPlaintext(plaintext), at: .zero)
    }
}

/// Random bytes that all messages are cut from, each at a place of its own.
private let material: [UInt8] = {
    var random = SeededRandom(seed: 0)
    return random.bytes(65_521 + DatagramCodec.maximumMessage + 1)
}()

/// A message whose bytes tell which one it is.
func datagramSample(_ number: Int, _ count: Int) -> [UInt8] {
    Array(material[(number * 257 % 65_521)...].prefix(count))
}
