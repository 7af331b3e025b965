// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import PeerEngine

@Suite struct FrameReaderTests {
    /// One of every kind, each of another length.
    private let frames = Frame.Kind.allCases.enumerated().map { place, kind in
        Frame(
            kind: kind,
            flags: UInt8(place),
            channel: UInt16(place) << 8 | 0x21,
            payload: (0..<place).map { UInt8($0 + place) }
        )
    }
    private var wire: [UInt8] { frames.flatMap(\.wire) }

    @Test func `every kind comes through, wherever the bytes are cut in two`() throws {
        let wire = wire
        for cut in 0...wire.count {
            var reader = FrameReader(limit: 64)
            reader.append(Array(wire[..<cut]))
            let first = try reader.rest()
            reader.append(Array(wire[cut...]))
            #expect(try first + reader.rest() == frames)
        }
    }

    @Test func `a frame is there with its last byte, and not before`() throws {
        var reader = FrameReader(limit: 64)
        var read: [Frame] = []
        let ends = frames.reduce(into: [0]) { ends, frame in ends.append((ends.last ?? 0) + frame.wire.count) }
        for (place, byte) in wire.enumerated() {
            reader.append([byte])
            read += try reader.rest()
            #expect(read.count == ends.dropFirst().count { $0 <= place + 1 })
        }
        #expect(read == frames)
    }

    @Test func `every kind comes through in pieces of any lengths`() throws {
        var random = SeededRandom(seed: 1)
        for _ in 0..<200 {
            var (reader, read, rest) = (FrameReader(limit: 64), [Frame](), wire[...])
            while !rest.isEmpty {
                let count = min(Int.random(in: 0...40, using: &random), rest.count)
                reader.append(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
                // Some pieces wait for others.
                if Bool.random(using: &random), let frame = try reader.next() { read.append(frame) }
            }
            #expect(try read + reader.rest() == frames)
        }
    }

    @Test(arguments: [0, 1, 100, Frame.maximumPayload])
    func `a payload is as long as the limit at most`(limit: Int) throws {
        var reader = FrameReader(limit: limit)
        let longest = Frame(kind: .chunk, channel: 9, payload: [UInt8](repeating: 5, count: limit))
        reader.append(longest.wire)
        #expect(try reader.next() == longest)
        var header: [UInt8] = []
        Frame.appendHeader(.chunk, flags: 0, channel: 9, count: limit + 1, to: &header)
        reader.append(header)
        #expect(throws: FrameError.tooLong(limit + 1)) { try reader.next() }
        // It stays so.
        #expect(throws: FrameError.tooLong(limit + 1)) { try reader.next() }
    }

    @Test func `the greatest length is told as it is`() {
        var reader = FrameReader(limit: Frame.maximumPayload)
        reader.append([255, 255, 255, 255, 255, 255, 255, 255])
        #expect(throws: FrameError.tooLong(0xFFFF_FFFF)) { try reader.next() }
    }

    @Test func `kinds that are not known are errors`() {
        let known = Set(Frame.Kind.allCases.map(\.rawValue))
        for kind in UInt8.min...UInt8.max where !known.contains(kind) {
            var reader = FrameReader(limit: 64)
            reader.append([0, 0, 0, 9, kind, 0, 0, 0])
            #expect(throws: FrameError.unknownKind(kind)) { try reader.next() }
        }
    }

    @Test func `nothing is judged before a header is complete`() throws {
        var reader = FrameReader(limit: 0)
        reader.append([255, 255, 255, 255, 255, 255, 255])
        #expect(try reader.next() == nil)
        reader.append([0])
        #expect(throws: FrameError.self) { try reader.next() }
    }

    @Test func `what came before an error is read`() throws {
        var reader = FrameReader(limit: 64)
        reader.append(wire + [0, 0, 0, 0, 200, 0, 0, 0])
        for frame in frames { #expect(try reader.next() == frame) }
        #expect(throws: FrameError.unknownKind(200)) { try reader.next() }
    }

    @Test func `a limit may grow between two frames`() throws {
        var reader = FrameReader(limit: 4)
        let (short, long) = (Frame(kind: .hello, payload: [1]), Frame(kind: .chunk, payload: Array(1...9)))
        reader.append(short.wire + long.wire)
        #expect(try reader.next() == short)
        reader.limit = 9
        #expect(try reader.rest() == [long])
    }
}
