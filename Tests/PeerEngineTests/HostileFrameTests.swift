// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import TestSupport
import Testing

@testable import PeerEngine

/// Makes what a stranger may send, the same in every run.
private struct Mischief {
    var random: SeededRandom

    private static let words = [
        "null", "{}", "[]", "-1", "1e308", "18446744073709551616", "\"\"", "\"\\u0012\"", "\"\\ud800\"", "[[[[[[[[[",
        "\"\0\"",
        "true", "{\"a\":1}", "9223372036854775808", "\u{FEFF}", "\"\\", "0x10", "1.0", "65536", "\"👩‍👩‍👧\"",
    ]

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    mutating func message() -> ControlMessage {
        let reason = RefusalReason.allCases.randomElement(using: &random) ?? .left
        switch number(0...8) {
        case 0: return .hello(name: name(), port: UInt16(number(0...65_535)), addresses: [])
        case 1: return .invite(serviceType: "chat", session: session(), contextLength: number(0...65_536))
        case 2: return .join(session: session(), from: session())
        case 3: return .accept(session: session())
        case 4: return .decline(reason)
        case 5: return .bye(reason)
        case 6: return .open(.stream(name: name()))
        case 7: return .open(.resource(name: name(), size: UInt64(number(0...Int.max))))
        default: return .members((0..<number(0...3)).compactMap { _ in member() })
        }
    }

    private mutating func name() -> String {
        ["Ann", "\"Bob\"", "Zoë", "日本", "👩‍👩‍👧", "\\"].randomElement(using: &random) ?? "Ann"
    }

    private mutating func session() -> SessionID { SessionID(Hexadecimal.text(random.bytes(16))) ?? SessionID() }

    private mutating func member() -> ControlMessage.Member? {
        PeerKey(bytes: random.bytes(20)).map {
            let addresses = [IPAddress.v4(UInt32(number(0...0xFFFF))), .v6(UInt128(number(0...Int.max)))]
            return ControlMessage.Member(key: $0, name: name(), session: session(), port: 1, addresses: addresses)
        }
    }

    /// A few good frames.
    mutating func frames() -> [Frame] {
        (0..<number(1...3)).map { _ in
            if number(0...3) > 0 { return message().frame(channel: UInt16(number(0...65_535))) }
            let kind = Frame.Kind.allCases.randomElement(using: &random) ?? .ping
            return Frame(kind: kind, flags: 1, channel: 3, payload: random.bytes(number(0...40)))
        }
    }

    /// The same with some bytes changed, left out, doubled, or replaced by a word.
    mutating func spoilt(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<number(1...3) {
            guard !bytes.isEmpty else { break }
            let place = number(0...bytes.count - 1)
            let end = min(place + number(1...8), bytes.count)
            switch number(0...5) {
            case 0: bytes[place] ^= 1 << UInt8(number(0...7))
            case 1: bytes[place] = UInt8(number(0...255))
            case 2: bytes.removeSubrange(place..<end)
            case 3: bytes.insert(contentsOf: bytes[place..<end], at: place)
            case 4: bytes.replaceSubrange(place..<end, with: (Self.words.randomElement(using: &random) ?? "").utf8)
            default: bytes.removeLast(bytes.count - place)
            }
        }
        return bytes
    }

    /// The same with its JSON spoilt, and the length right.
    mutating func spoiltInside(_ frame: Frame) -> Frame {
        let payload = spoilt(frame.payload)
        return Frame(kind: frame.kind, flags: frame.flags, channel: frame.channel, payload: payload)
    }
}

@Suite(.computing) struct HostileFrameTests {
    /// Reads all that can be read, in pieces of any lengths.
    /// - Returns: How many messages there were, and whether it ended with an error.
    private func read(_ bytes: [UInt8], _ mischief: inout Mischief, limit: Int) throws -> (messages: Int, failed: Bool)
    {
        var (reader, rest, count) = (FrameReader(limit: limit), bytes[...], 0)
        while !rest.isEmpty {
            let length = min(mischief.number(1...60), rest.count)
            reader.append(Array(rest.prefix(length)))
            rest = rest.dropFirst(length)
            do throws(FrameError) {
                while let frame = try reader.next() {
                    #expect(frame.payload.count <= limit)
                    let message = try ControlMessage(frame)
                    count += 1
                    #expect(message.frame().kind == frame.kind)
                    // What was taken is as good as what we say ourselves.
                    #expect((try? ControlMessage(message.frame())) == message)
                }
            } catch {
                return (count, true)
            }
        }
        return (count, false)
    }

    @Test(arguments: [1, 2, 3, 4])
    func `spoilt frames are read or refused`(seed: UInt64) throws {
        var mischief = Mischief(random: SeededRandom(seed: seed))
        var (taken, failed) = (0, 0)
        for _ in 0..<2500 {
            let bytes = mischief.spoilt(mischief.frames().flatMap(\.wire))
            let outcome = try read(bytes, &mischief, limit: mischief.number(0...4) == 0 ? 100 : Frame.maximumPayload)
            taken += outcome.messages
            failed += outcome.failed ? 1 : 0
        }
        #expect(taken > 250 && failed > 250)
    }

    @Test(arguments: [5, 6, 7])
    func `frames with spoilt JSON are read or refused`(seed: UInt64) throws {
        var mischief = Mischief(random: SeededRandom(seed: seed))
        var (taken, failed) = (0, 0)
        for _ in 0..<2500 {
            let frame = mischief.spoiltInside(mischief.message().frame())
            let outcome = try read(frame.wire, &mischief, limit: Frame.maximumPayload)
            taken += outcome.messages
            failed += outcome.failed ? 1 : 0
        }
        #expect(taken > 50 && failed > 1000)
    }

    @Test func `random bytes are read or refused`() throws {
        var mischief = Mischief(random: SeededRandom(seed: 8))
        var failed = 0
        for _ in 0..<2500 {
            let bytes = mischief.random.bytes(mischief.number(0...200))
            failed += try read(bytes, &mischief, limit: Frame.maximumPayload).failed ? 1 : 0
        }
        #expect(failed > 2000)
    }

    @Test func `random payloads of every kind are refused`() {
        var mischief = Mischief(random: SeededRandom(seed: 9))
        let characters = Array("{}[]\",:0123456789.eE+-\\u trfalsn\u{0}\u{7F}".utf8)
        for _ in 0..<150 {
            for kind in Frame.Kind.allCases {
                let isText = mischief.number(0...1) == 0
                let payload = mischief.random.bytes(mischief.number(0...100)).map {
                    isText ? characters[Int($0) % characters.count] : $0
                }
                #expect(throws: FrameError.misplaced(kind)) { try ControlMessage(Frame(kind: kind, payload: payload)) }
            }
        }
    }

    @Test func `a truncated message is refused at every length`() throws {
        var mischief = Mischief(random: SeededRandom(seed: 10))
        for _ in 0..<60 {
            let frame = mischief.message().frame()
            for count in frame.payload.indices {
                let cut = Frame(kind: frame.kind, payload: Array(frame.payload.prefix(count)))
                #expect(throws: FrameError.misplaced(frame.kind)) { try ControlMessage(cut) }
            }
        }
    }
}
