// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import PeerEngine

/// A network that loses, doubles and delays; the same in every run.
private struct LossyNetwork {
    struct Flight {
        let arrival: Int
        let order: Int
        /// The datagram's counter, and the message's place among all.
        let counter: Int
        let number: Int
        let isLate: Bool
        let datagram: [UInt8]
    }

    /// How late others are, at a rate that leaves them within the window.
    static let soon = 60

    var random: SeededRandom
    private var flights: [Flight] = []
    private var order = 0
    private(set) var lost: Set<Int> = []

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    /// Sends a datagram of a message at a millisecond; one in five is lost, one in ten comes twice or more.
    mutating func send(_ datagram: [UInt8], _ counter: Int, of number: Int, at time: Int) {
        if Int.random(in: 0..<5, using: &random) == 0 {
            lost.insert(number)
            return
        }
        repeat {
            // Most come soon; some after others that were sent later, and a few when their second is over.
            let delay =
                switch Int.random(in: 0..<200, using: &random) {
                case 0: Int.random(in: 900...1500, using: &random)
                case 1..<20: Int.random(in: 0...Self.soon, using: &random)
                default: Int.random(in: 0...3, using: &random)
                }
            order += 1
            flights.append(
                Flight(
                    arrival: time + delay,
                    order: order,
                    counter: counter,
                    number: number,
                    isLate: delay > Self.soon,
                    datagram: datagram
                )
            )
        } while Int.random(in: 0..<10, using: &random) == 0
    }

    /// What arrives until a millisecond, in order.
    mutating func arrivals(until time: Int) -> [Flight] {
        let place = flights.partition { $0.arrival <= time }
        let due = flights[place...].sorted { ($0.arrival, $0.order) < ($1.arrival, $1.order) }
        flights.removeSubrange(place...)
        return due
    }
}

/// What a receiver has to make of datagrams that it takes.
private struct ExpectedReceiver {
    private struct Partial {
        let number: Int
        let first: Int
        var counters: Set<Int>
    }

    private var partials: [Partial] = []

    /// Whether a message of so many fragments is whole with this one.
    mutating func isWhole(_ number: Int, _ count: Int, with counter: Int, at time: Int) -> Bool {
        partials.removeAll { time - $0.first >= 1000 }
        if count == 1 { return true }
        let place: Int
        if let known = partials.firstIndex(where: { $0.number == number }) {
            place = known
            partials[place].counters.insert(counter)
        } else {
            if partials.count == 8 { partials.removeFirst() }
            place = partials.count
            partials.append(Partial(number: number, first: time, counters: [counter]))
        }
        guard partials[place].counters.count == count else { return false }
        partials.remove(at: place)
        return true
    }
}

@Suite(.computing) struct DatagramCodecModelTests {
    private func length(_ random: inout SeededRandom) -> Int {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: Int.random(in: 0...DatagramCodec.maximumMessage, using: &random)
        case 1: Int.random(in: 1...16, using: &random) * DatagramCodec.maximumContent
        case 2...4: Int.random(in: 0...3000, using: &random)
        default: Int.random(in: 0...300, using: &random)
        }
    }

    @Test(arguments: [1, 2] as [UInt64])
    func `with loss, doubles and any order messages are whole and single, or dropped`(seed: UInt64) throws {
        var (ends, network, receiver) = (try DatagramEnds(), LossyNetwork(seed: seed), ExpectedReceiver())
        var messages: [(length: Int, fragments: Int)] = []
        var (first, seen, delivered) = ([Int: Int](), Set<Int>(), Set<Int>())
        let count = 10_000
        var (counter, long, late) = (0, 0, 0)
        for time in 0..<count / 4 + 2000 {
            for number in messages.count..<min(messages.count + 4, count) {
                let length = length(&network.random)
                let datagrams = try ends.left.sealed(datagramSample(number, length))
                messages.append((length, datagrams.count))
                for datagram in datagrams {
                    network.send(datagram, counter, of: number, at: time)
                    counter += 1
                }
            }
            for flight in network.arrivals(until: time) {
                let (number, fragments) = (flight.number, messages[flight.number].fragments)
                let opened = ends.right.open(flight.datagram, at: .milliseconds(flight.arrival))
                guard opened != .refused else {
                    late += seen.contains(flight.counter) ? 0 : 1
                    #expect(seen.contains(flight.counter) || flight.isLate)
                    continue
                }
                #expect(seen.insert(flight.counter).inserted)
                first[number] = first[number] ?? flight.arrival
                let isWhole = receiver.isWhole(number, fragments, with: flight.counter, at: flight.arrival)
                #expect(opened == (isWhole ? .message(datagramSample(number, messages[number].length)) : .incomplete))
                guard isWhole else { continue }
                // The expectation itself holds what was promised.
                #expect(delivered.insert(number).inserted && !network.lost.contains(number))
                #expect(flight.arrival - (first[number] ?? 0) < 1000)
                long += fragments > 1 ? 1 : 0
            }
            #expect(ends.right.partials.count <= DatagramCodec.mostPartials)
        }
        // Something of everything has happened.
        #expect(delivered.count > count / 2 && long > 500 && late > 20 && network.lost.count > count / 5)
    }

    @Test func `without loss and delay all messages arrive in order`() throws {
        var (ends, random) = (try DatagramEnds(), SeededRandom(seed: 3))
        for number in 0..<2000 {
            let sent = datagramSample(number, length(&random))
            let opened = try ends.left.sealed(sent).map { ends.right.open($0, at: .zero) }
            #expect(opened.last == .message(sent) && opened.dropLast().allSatisfy { $0 == .incomplete })
        }
    }

    @Test func `random and spoilt datagrams are refused`() throws {
        var (ends, random) = (try DatagramEnds(), SeededRandom(seed: 4))
        let sound = try [0, 1, 100, 1193].map { try ends.left.sealed(datagramSample(4, $0))[0] }
        for _ in 0..<20_000 {
            var bytes = sound[Int.random(in: 0..<4, using: &random)]
            let place = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: bytes = random.bytes(Int.random(in: 0...100, using: &random))
            case 1: bytes = Array(bytes.prefix(12)) + random.bytes(Int.random(in: 0...60, using: &random))
            case 2: bytes[place] ^= UInt8.random(in: 1...255, using: &random)
            case 3: bytes.removeLast(bytes.count - place)
            case 4: bytes.insert(contentsOf: bytes[..<place] + [0], at: place)
            default: bytes.removeFirst(place + 1)
            }
            #expect(ends.right.open(bytes, at: .zero) == .refused)
            _ = DatagramCodec.tag(of: bytes)
        }
        #expect(
            sound.map { ends.right.open($0, at: .zero) } == [0, 1, 100, 1193].map { .message(datagramSample(4, $0)) }
        )
    }

    @Test func `random plaintexts of the peer itself do no harm`() throws {
        var (ends, random) = (try DatagramEnds(), SeededRandom(seed: 5))
        var whole = 0
        for step in 0..<20_000 as Range<UInt32> {
            var plaintext = random.bytes(Int.random(in: 0...40, using: &random))
            if plaintext.count >= 7, Int.random(in: 0..<4, using: &random) > 0 {
                plaintext[6] = UInt8.random(in: 0...5, using: &random)
                plaintext[5] = UInt8.random(in: 0...4, using: &random)
                let number = step &- UInt32(plaintext[5])
                plaintext[0] = 2
                for place in 0..<4 {
                    plaintext[1 + place] = UInt8(truncatingIfNeeded: number >> UInt32(24 - 8 * place))
                }
            }
            let opened = try ends.send(plaintext)
            guard case .message(let content) = opened else { continue }
            whole += 1
            #expect(content.count <= DatagramCodec.maximumMessage)
        }
        #expect(whole > 300)
    }
}
