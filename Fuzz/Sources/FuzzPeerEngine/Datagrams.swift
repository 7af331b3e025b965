// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import FuzzKit

@testable import PeerEngine

/// A program for both ends of a connection: messages, what the peer seals itself, what anybody sends, and the order, the
/// time and the number of times in which all that arrives.
struct Datagrams {
    private struct Sent {
        /// The message's place among all; nothing when the peer sealed what it liked.
        let number: Int?
        let bytes: [UInt8]
        var hasArrived = false
    }

    private static let keys = [[UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32)]
    private static let mostSteps = 64

    private var sender: DatagramCodec
    private var receiver: DatagramCodec
    private var sent: [Sent] = []
    private var messages: [[UInt8]] = []
    private var delivered: Set<Int> = []
    private var now = Duration.zero

    private init?(counter: UInt64) {
        let keys = Self.keys
        guard
            let sender = DatagramCodec(
                sendingKey: keys[0],
                receivingKey: keys[1],
                sendingTag: 1,
                receivingTag: 2,
                counter: counter
            ),
            let receiver = DatagramCodec(sendingKey: keys[1], receivingKey: keys[0], sendingTag: 2, receivingTag: 1)
        else { return nil }
        self.sender = sender
        self.receiver = receiver
    }

    static func examine(_ reader: inout InputReader) {
        let starts: [UInt64] = [0, 0xFFFF_FFFE, .max - 20, 1 << 40]
        guard var datagrams = Datagrams(counter: starts[Int(reader.byte() % 4)]) else {
            fatalError("sound keys are refused")
        }
        for _ in 0..<mostSteps where !reader.isAtEnd { datagrams.step(&reader) }
    }

    private mutating func step(_ reader: inout InputReader) {
        let step = reader.byte()
        switch step % 8 {
        case 0, 1: send(count: reader.word() % (DatagramCodec.maximumMessage + 2))
        case 2: sendPlaintext(copy(reader.bytes(Int(reader.byte()))))
        case 3: sendFragment(&reader)
        case 4:
            for place in sent.indices.suffix(Int(step / 8) + 1) { arrive(place) }
        case 5:
            let place = reader.word()
            if !sent.isEmpty { arrive(place % sent.count) }
        case 6: now += .milliseconds(reader.word())
        default: forge(&reader)
        }
        require(receiver.partials.count <= DatagramCodec.mostPartials, "more partial messages than may be")
    }

    private func copy(_ span: Span<UInt8>) -> [UInt8] { span.indices.map { span[$0] } }

    private mutating func send(count: Int) {
        let number = messages.count
        let message = [UInt8](repeating: UInt8(truncatingIfNeeded: number &* 7), count: count)
        guard let datagrams = sender.seal(message) else { return }
        require(count <= DatagramCodec.maximumMessage, "a long message")
        messages.append(message)
        sent += datagrams.map { Sent(number: number, bytes: $0) }
    }

    private mutating func sendPlaintext(_ plaintext: [UInt8]) {
        guard let datagram = sender.sealPlaintext(plaintext) else { return }
        sent.append(Sent(number: nil, bytes: datagram))
    }

    /// A fragment whose number follows from its counter, or nearly.
    private mutating func sendFragment(_ reader: inout InputReader) {
        guard let probe = sender.probe() else { return }
        let (index, count, off) = (reader.byte() % 18, reader.byte() % 18, reader.byte())
        let counter = probe[8..<12].reduce(0) { $0 << 8 | UInt32($1) } &+ 1
        let number = counter &- UInt32(index) &+ (off > 250 ? 1 : 0)
        let head = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
        sendPlaintext([2] + head + [index, count] + copy(reader.bytes(Int(off % 8))))
    }

    private mutating func arrive(_ place: Int) {
        let opened = receiver.open(sent[place].bytes, at: now)
        guard !sent[place].hasArrived else { return require(opened == .refused, "a datagram was taken twice") }
        sent[place].hasArrived = true
        guard let number = sent[place].number else {
            if case .message(let content) = opened {
                require(content.count <= DatagramCodec.maximumMessage, "a long message")
            }
            return
        }
        switch opened {
        case .message(let content):
            require(content == messages[number], "a message is not what was sent")
            require(delivered.insert(number).inserted, "a message was delivered twice")
        case .incomplete: require(!delivered.contains(number), "a rest of a message that is whole")
        case .refused: break
        case .probe, .acknowledgement: fatalError("a fragment was taken for something else")
        }
    }

    /// Bytes of anybody, and a sound datagram with something changed.
    private mutating func forge(_ reader: inout InputReader) {
        let (place, change) = (reader.word(), reader.byte())
        if change > 0, let last = sent.last {
            var bytes = last.bytes
            bytes[place % bytes.count] ^= change
            require(receiver.open(bytes, at: now) == .refused, "a forged datagram was taken")
        }
        let bytes = copy(reader.bytes(place % 64))
        require(receiver.open(bytes, at: now) == .refused, "anybody's bytes were taken")
        let tag = DatagramCodec.tag(of: bytes)
        require(tag == nil || bytes.count > DatagramCodec.overhead && tag ?? 0 < 1 << 24, "a tag of nothing")
    }
}
