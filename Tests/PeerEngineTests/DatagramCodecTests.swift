// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import PeerEngine

@Suite struct DatagramCodecTests {
    private static let piece = DatagramCodec.maximumContent
    /// Around each length at which a fragment is added.
    private static let lengths: [Int] = {
        let around = (1...16).flatMap { count -> [Int] in (-1...1).map { count * piece + $0 } }
        return [0, 1, 2] + around.dropLast()
    }()

    @Test func `has the lengths that its wire has`() {
        #expect(DatagramCodec.overhead == 28)
        #expect(Self.piece == 1193)
        #expect(DatagramCodec.maximumMessage == 16 * 1193)
    }

    @Test(arguments: lengths)
    func `a message arrives as it was`(length: Int) throws {
        var ends = try DatagramEnds()
        let sent = datagramSample(3, length)
        let datagrams = try ends.left.sealed(sent)
        #expect(datagrams.count == max((length + 1192) / 1193, 1))
        #expect(datagrams.allSatisfy { $0.count <= DatagramCodec.overhead + DatagramCodec.maximumPlaintext })
        #expect(datagrams.reduce(0) { $0 + $1.count } == length + datagrams.count * (DatagramCodec.overhead + 7))
        for datagram in datagrams.dropLast() { #expect(ends.right.open(datagram, at: .zero) == .incomplete) }
        #expect(ends.right.open(try #require(datagrams.last), at: .zero) == .message(sent))
        #expect(ends.right.partials.isEmpty)
    }

    @Test func `a message that is too long is not sealed, and takes no counter`() throws {
        var ends = try DatagramEnds()
        #expect(ends.left.seal(datagramSample(0, DatagramCodec.maximumMessage + 1)) == nil)
        let datagram = try ends.left.probed()
        #expect(Array(datagram.prefix(12)) == [1, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0])
    }

    @Test func `what is on the wire is as RFC 8439 has it`() throws {
        // By another implementation: the key 32 times 1, the nonce 4 zeros and the counter, the header as it is here.
        var ends = try DatagramEnds(counter: 0x0102_0304_0506_0708)
        let datagrams = try ends.left.sealed(Array("hello".utf8))
        #expect(datagrams.map { Hexadecimal.text($0) } == [Self.sample])
    }

    @Test func `a probe and its answer arrive as what they are, both ways`() throws {
        var ends = try DatagramEnds()
        #expect(ends.right.open(try ends.left.probed(), at: .zero) == .probe)
        #expect(ends.left.open(try ends.right.acknowledged(), at: .zero) == .acknowledgement)
        #expect(ends.left.open(try ends.right.probed(), at: .zero) == .probe)
        #expect(ends.right.open(try ends.left.acknowledged(), at: .zero) == .acknowledgement)
        let datagrams = try ends.right.sealed([9])
        #expect(datagrams.map { ends.left.open($0, at: .zero) } == [.message([9])])
    }

    @Test func `keys have 32 bytes, tags 24 bits`() {
        let key = [UInt8](repeating: 1, count: 32)
        func make(_ sending: Int, _ receiving: Int, _ tags: (UInt32, UInt32)) -> Bool {
            let codec = DatagramCodec(
                sendingKey: [UInt8](repeating: 1, count: sending),
                receivingKey: [UInt8](repeating: 1, count: receiving),
                sendingTag: tags.0,
                receivingTag: tags.1
            )
            return codec != nil
        }
        #expect(key.count == 32 && make(32, 32, (0, 0xFF_FFFF)))
        for count in [0, 31, 33] { #expect(!make(count, 32, (0, 0)) && !make(32, count, (0, 0))) }
        #expect(!make(32, 32, (0x100_0000, 0)) && !make(32, 32, (0, 0x100_0000)))
    }

    @Test func `the last counters are used once, and then no more`() throws {
        var ends = try DatagramEnds(counter: .max - 3)
        #expect(ends.left.seal(datagramSample(0, 4 * Self.piece)) == nil)
        let sent = datagramSample(0, 2 * Self.piece)
        let datagrams = try ends.left.sealed(sent)
        #expect(datagrams.map { ends.right.open($0, at: .zero) } == [.incomplete, .message(sent)])
        #expect(ends.left.seal(sent) == nil)
        #expect(ends.right.open(try ends.left.sealed([5])[0], at: .zero) == .message([5]))
        #expect(ends.left.probe() == nil && ends.left.acknowledgement() == nil && ends.left.seal([]) == nil)
        #expect(datagrams.map { ends.right.open($0, at: .zero) } == [.refused, .refused])
    }

    @Test func `numbers of messages begin anew where their counters pass 32 bits`() throws {
        var ends = try DatagramEnds(counter: 0xFFFF_FFFD)
        for number in 0..<4 {
            let sent = datagramSample(number, 2 * Self.piece)
            let datagrams = try ends.left.sealed(sent)
            #expect(datagrams.reversed().map { ends.right.open($0, at: .zero) } == [.incomplete, .message(sent)])
        }
    }

    @Test func `the tag of anybody's datagram is read where it is one`() throws {
        var ends = try DatagramEnds()
        let datagram = try ends.left.probed()
        #expect(DatagramCodec.tag(of: datagram) == DatagramEnds.tags[0])
        #expect(DatagramCodec.tag(of: try ends.right.sealed(datagramSample(1, 900))[0]) == DatagramEnds.tags[1])
        for count in datagram.indices { #expect(DatagramCodec.tag(of: Array(datagram.prefix(count))) == nil) }
        for version in [0, 2, 255] as [UInt8] {
            #expect(DatagramCodec.tag(of: [version] + datagram.dropFirst()) == nil)
        }
    }

    /// The message "hello" as the first one of a connection.
    private static let sample = "0101020301020304050607087e81037327063fc237a1dd056253dd43527e646dee330339806968f6"
}

@Suite struct DatagramCodecSecurityTests {
    @Test(arguments: [0, 40])
    func `a datagram with one bit changed is refused, and changes nothing`(length: Int) throws {
        var ends = try DatagramEnds()
        let sent = datagramSample(1, length)
        let datagram = try ends.left.sealed(sent)[0]
        for bit in 0..<datagram.count * 8 {
            var changed = datagram
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(ends.right.open(changed, at: .zero) == .refused)
        }
        // Also one whose counter was far ahead has not moved the window.
        #expect(ends.right.open(datagram, at: .zero) == .message(sent))
    }

    @Test func `a datagram that is cut or longer is refused`() throws {
        var ends = try DatagramEnds()
        let datagram = try ends.left.sealed(datagramSample(1, 40))[0]
        for count in datagram.indices { #expect(ends.right.open(Array(datagram.prefix(count)), at: .zero) == .refused) }
        for count in [1, 2, 16, 5000] {
            #expect(ends.right.open(datagram + [UInt8](repeating: 0, count: count), at: .zero) == .refused)
        }
        #expect(ends.right.open([], at: .zero) == .refused)
        #expect(ends.right.open(datagram, at: .zero) == .message(datagramSample(1, 40)))
    }

    @Test func `a datagram under another key or tag, or of the other direction is refused`() throws {
        var ends = try DatagramEnds()
        let (keys, tags) = (DatagramEnds.keys, DatagramEnds.tags)
        let other = [UInt8](repeating: 3, count: 32)
        let strangers = [
            DatagramCodec(sendingKey: other, receivingKey: keys[1], sendingTag: tags[0], receivingTag: tags[1]),
            DatagramCodec(sendingKey: keys[0], receivingKey: keys[1], sendingTag: tags[1], receivingTag: tags[1]),
            DatagramCodec(sendingKey: keys[1], receivingKey: keys[0], sendingTag: tags[0], receivingTag: tags[1]),
        ]
        for var stranger in strangers.compactMap(\.self) {
            #expect(ends.right.open(try stranger.sealed([1])[0], at: .zero) == .refused)
            #expect(ends.right.open(try stranger.probed(), at: .zero) == .refused)
        }
        // What comes back to its sender.
        let own = try ends.right.sealed([1])[0]
        #expect(ends.right.open(own, at: .zero) == .refused)
        #expect(ends.left.open(own, at: .zero) == .message([1]))
    }

    @Test func `a datagram is taken once, whatever it holds`() throws {
        var ends = try DatagramEnds()
        var all = try ends.left.sealed(datagramSample(1, 3000))
        all.append(try ends.left.probed())
        all.append(try ends.left.acknowledged())
        all.append(try ends.left.sealed([])[0])
        all.append(try ends.left.sealedPlaintext([99]))
        for datagram in all { _ = ends.right.open(datagram, at: .zero) }
        for datagram in all { #expect(ends.right.open(datagram, at: .seconds(5)) == .refused) }
    }

    @Test(arguments: [0, 1, 63, 64, 1000, 1 << 40])
    func `a datagram may be late by 1024, and no more`(first: UInt64) throws {
        var ends = try DatagramEnds(counter: first)
        var datagrams: [[UInt8]] = []
        for number in 0...1025 { datagrams += try ends.left.sealed([UInt8(number & 0xFF)]) }
        #expect(ends.right.open(datagrams[1025], at: .zero) == .message([1]))
        #expect(ends.right.open(datagrams[0], at: .zero) == .refused)
        for number in (1...1024).reversed() {
            #expect(ends.right.open(datagrams[number], at: .zero) == .message([UInt8(number & 0xFF)]))
        }
        for datagram in datagrams { #expect(ends.right.open(datagram, at: .zero) == .refused) }
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `the window agrees with a set of all counters`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var (window, seen, highest) = (ReplayWindow(), Set<UInt64>(), UInt64(0))
        for _ in 0..<20_000 {
            let ahead: UInt64
            switch Int.random(in: 0..<200, using: &random) {
            case 0: ahead = UInt64.random(in: 0...5000, using: &random)
            case 1: ahead = UInt64.random(in: 1000...1200, using: &random)
            default: ahead = UInt64.random(in: 0...5, using: &random)
            }
            let isLate = Int.random(in: 0...2, using: &random) > 0
            let counter = isLate ? highest - min(UInt64.random(in: 0...1030, using: &random), highest) : highest + ahead
            let isNew = counter + 1024 >= highest && !seen.contains(counter)
            #expect(window.isNew(counter) == isNew)
            guard isNew else { continue }
            window.insert(counter)
            seen.insert(counter)
            highest = max(highest, counter)
        }
        #expect(window.isNew(.max))
        window.insert(.max)
        #expect(!window.isNew(.max) && !window.isNew(highest + 1))
        #expect(window.isNew(.max - 1024) && !window.isNew(.max - 1025))
    }
}

@Suite struct DatagramReassemblyTests {
    private static let piece = DatagramCodec.maximumContent

    @Test func `messages arrive whole in any order of their fragments`() throws {
        var random = SeededRandom(seed: 1)
        for count in 2...16 {
            var ends = try DatagramEnds()
            let sent = [datagramSample(1, count * Self.piece), datagramSample(2, count * Self.piece - 5)]
            let datagrams = try sent.flatMap { try ends.left.sealed($0) }.shuffled(using: &random)
            let opened = datagrams.map { ends.right.open($0, at: .zero) }
            #expect(opened.count { $0 == .incomplete } == 2 * count - 2)
            #expect(Set(opened) == Set([.incomplete] + sent.map { .message($0) }))
        }
    }

    @Test func `a partial message is dropped a second after its first fragment`() throws {
        let start = Duration.seconds(100)
        for (delay, isWhole) in [(999, true), (1000, false), (1001, false), (100_000, false)] {
            var ends = try DatagramEnds()
            let sent = datagramSample(1, 3 * Self.piece)
            let datagrams = try ends.left.sealed(sent)
            #expect(ends.right.open(datagrams[2], at: start) == .incomplete)
            // What comes meanwhile gives it no more time.
            #expect(ends.right.open(datagrams[0], at: start + .milliseconds(900)) == .incomplete)
            let opened = ends.right.open(datagrams[1], at: start + .milliseconds(delay))
            #expect(opened == (isWhole ? .message(sent) : .incomplete))
            // Too late it is a partial message itself, which never becomes whole and is dropped in its turn.
            #expect(ends.right.partials.count == (isWhole ? 0 : 1))
            let later = start + .milliseconds(delay + 1000)
            for datagram in datagrams { #expect(ends.right.open(datagram, at: later) == .refused) }
            #expect(ends.right.open(try ends.left.probed(), at: later) == .probe)
            #expect(ends.right.partials.isEmpty)
        }
    }

    @Test func `what is forged drops no partial message`() throws {
        var ends = try DatagramEnds()
        let datagrams = try ends.left.sealed(datagramSample(1, 2 * Self.piece))
        #expect(ends.right.open(datagrams[0], at: .zero) == .incomplete)
        var forged = datagrams[1]
        forged[20] ^= 1
        #expect(ends.right.open(forged, at: .zero) == .refused)
        #expect(ends.right.open(datagrams[1], at: .zero) == .message(datagramSample(1, 2 * Self.piece)))
    }

    @Test func `a clock that goes back is no fault`() throws {
        var ends = try DatagramEnds()
        let datagrams = try ends.left.sealed(datagramSample(1, 2 * Self.piece))
        #expect(ends.right.open(datagrams[0], at: .seconds(5)) == .incomplete)
        #expect(ends.right.open(datagrams[1], at: .seconds(-5)) == .message(datagramSample(1, 2 * Self.piece)))
    }

    @Test func `of more than 8 partial messages the oldest is dropped`() throws {
        var ends = try DatagramEnds()
        let sent = (0..<10).map { datagramSample($0, 16 * Self.piece) }
        let datagrams = try sent.map { try ends.left.sealed($0) }
        for index in 0..<15 {
            for list in datagrams.prefix(8) { #expect(ends.right.open(list[index], at: .zero) == .incomplete) }
        }
        for list in datagrams.suffix(2) { #expect(ends.right.open(list[0], at: .zero) == .incomplete) }
        #expect(ends.right.partials.count == 8)
        for number in 2..<8 {
            #expect(ends.right.open(datagrams[number][15], at: .zero) == .message(sent[number]))
        }
        for number in 0..<2 { #expect(ends.right.open(datagrams[number][15], at: .zero) == .incomplete) }
        for number in 8..<10 {
            let opened = datagrams[number].dropFirst().map { ends.right.open($0, at: .zero) }
            #expect(opened.last == .message(sent[number]))
        }
    }

    @Test func `what is kept is bounded, whatever a peer sends`() throws {
        var (ends, random) = (try DatagramEnds(), SeededRandom(seed: 2))
        let content = [UInt8](repeating: 1, count: Self.piece)
        for step in 0..<4000 as Range<UInt32> {
            let count = UInt8.random(in: 2...17, using: &random)
            let index = UInt8.random(in: 0..<count, using: &random)
            _ = try ends.sendFragment(step &- UInt32(index), index, count, content)
            let kept = ends.right.partials.reduce(0) { $0 + $1.pieces.reduce(0) { $0 + ($1?.count ?? 0) } }
            #expect(ends.right.partials.count <= 8 && kept <= 8 * DatagramCodec.maximumMessage)
        }
        #expect(ends.right.partials.count == 8)
    }

    @Test func `fragments that make no sense are refused`() throws {
        var ends = try DatagramEnds(counter: 100)
        #expect(try ends.sendFragment(100, 0, 0) == .refused)
        #expect(try ends.sendFragment(101, 0, 17) == .refused)
        #expect(try ends.sendFragment(102, 0, 255) == .refused)
        #expect(try ends.sendFragment(102, 1, 1) == .refused)
        #expect(try ends.sendFragment(88, 16, 16) == .refused)
        #expect(try ends.sendFragment(0, 105, 106) == .refused)
        #expect(ends.right.partials.isEmpty)
        #expect(try ends.sendFragment(106, 0, 1, []) == .message([]))
        #expect(try ends.sendFragment(107, 0, 2, []) == .incomplete)
        #expect(try ends.sendFragment(107, 1, 2, [8]) == .message([8]))
    }

    @Test func `fragments of one message that disagree are refused`() throws {
        var ends = try DatagramEnds()
        #expect(try ends.sendFragment(0, 0, 4) == .incomplete)
        // Another count.
        #expect(try ends.sendFragment(0, 1, 3) == .refused)
        #expect(try ends.sendFragment(0, 2, 4) == .incomplete)
        // An index that was there, and any other whose counter does not follow.
        #expect(try ends.sendFragment(0, 2, 4) == .refused)
        #expect(try ends.sendFragment(0, 0, 4) == .refused)
        #expect(try ends.sendFragment(0, 1, 4) == .refused)
        #expect(try ends.sendFragment(1, 0, 1) == .refused)
        #expect(ends.right.partials.map(\.missing) == [2])
    }

    @Test func `a first fragment would have had a counter`() throws {
        var ends = try DatagramEnds()
        #expect(try ends.sendFragment(.max, 1, 2) == .refused)
        #expect(try ends.sendFragment(0, 1, 2) == .incomplete)
    }

    @Test func `plaintexts that make no sense are refused`() throws {
        var ends = try DatagramEnds()
        for kind in 3...255 as ClosedRange<UInt8> { #expect(try ends.send([kind]) == .refused) }
        #expect(try ends.send([]) == .refused)
        #expect(try ends.send([0, 0]) == .refused && ends.send([1, 0]) == .refused)
        for count in 0..<6 { #expect(try ends.send([2] + [UInt8](repeating: 0, count: count)) == .refused) }
        let counter = UInt8(truncatingIfNeeded: 253 + 9)
        let longest = [2, 0, 0, 1, counter, 0, 1] + [UInt8](repeating: 5, count: Self.piece)
        #expect(try ends.send(longest) == .message(Array(longest.dropFirst(7))))
        #expect(try ends.send([2, 0, 0, 1, counter + 1, 0, 1] + longest) == .refused)
        #expect(ends.right.partials.isEmpty)
    }
}
