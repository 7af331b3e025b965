// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import PeerEngine

/// What a scheduler has been given, and what it owes, told in the simplest way.
private struct Model {
    struct Channel {
        /// Pieces that have not gone whole: what is left of each, whether it is a message, and whether it has begun.
        var pieces: [(rest: ArraySlice<UInt8>, isMessage: Bool, hasBegun: Bool)] = []
        var credit = ChannelScheduler.initialCredit
        var ending: Frame?
    }

    var control: [Frame] = []
    var channels: [UInt16: Channel] = [:]

    func waiting(on id: UInt16) -> Int { channels[id]?.pieces.reduce(0) { $0 + $1.rest.count } ?? 0 }

    var isEmpty: Bool { control.isEmpty && channels.values.allSatisfy { $0.pieces.isEmpty && $0.ending == nil } }

    mutating func add(_ bytes: [UInt8], isMessage: Bool, on id: UInt16) {
        channels[id]?.pieces.append((bytes[...], isMessage, false))
    }

    mutating func replace(_ bytes: [UInt8], on id: UInt16) {
        channels[id]?.pieces.removeAll { !$0.hasBegun }
        add(bytes, isMessage: true, on: id)
    }

    mutating func end(_ id: UInt16, with frame: Frame) {
        guard let channel = channels[id] else { return }
        if channel.pieces.isEmpty { control.append(frame) } else { channels[id]?.ending = frame }
    }

    /// Checks a frame against what is owed, and takes it from there.
    mutating func take(_ frame: Frame) throws {
        guard [.fragment, .chunk].contains(frame.kind) else {
            #expect(control.first == frame)
            if !control.isEmpty { control.removeFirst() }
            return
        }
        // Content goes when all that is agreed upon has gone.
        #expect(control.isEmpty)
        var channel = try #require(channels[frame.channel])
        let piece = try #require(channel.pieces.first)
        let count = frame.payload.count
        #expect(count <= ChannelScheduler.quantum && count <= channel.credit)
        #expect(frame.kind == (piece.isMessage ? .fragment : .chunk))
        #expect(piece.rest.prefix(count) == frame.payload[...])
        #expect((frame.flags == Frame.isLast) == (piece.isMessage && count == piece.rest.count))
        channel.credit -= count
        if count >= piece.rest.count {
            channel.pieces.removeFirst()
        } else {
            #expect(count > 0)
            channel.pieces[0] = (piece.rest.dropFirst(count), piece.isMessage, true)
        }
        if channel.pieces.isEmpty, let ending = channel.ending {
            channel.ending = nil
            control.append(ending)
        }
        channels[frame.channel] = channel
    }
}

/// A scheduler and its model, with the same done to both.
private struct Trial {
    var scheduler = ChannelScheduler()
    var model = Model()
    var random: SeededRandom
    private let ids: [UInt16] = [0, 1, 16, 17, 18]
    private static let pool = (0..<150_256).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    private mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    private mutating func content() -> [UInt8] {
        let most = [0, 3, 100, 5000, 40_000, 150_000][number(0...5)]
        let start = number(0...255)
        return Array(Self.pool[start..<start + number(0...most)])
    }

    mutating func step() throws {
        let id = ids[number(0...ids.count - 1)]
        switch number(0...11) {
        case 0, 1: try add(to: id)
        case 2, 3:
            let bytes = content()
            scheduler.replaceMessage(bytes, on: 1)
            model.replace(bytes, on: 1)
        case 4:
            let frame = Frame(kind: .ping, channel: UInt16(number(0...65_535)))
            scheduler.add(frame)
            model.control.append(frame)
        case 5: grant(number(0...100_000), on: id)
        case 6:
            let frame = Frame(kind: .end, channel: id)
            scheduler.end(id, with: frame)
            model.end(id, with: frame)
        case 7 where number(0...3) == 0:
            scheduler.closeChannel(id)
            model.channels[id] = nil
        case 8:
            scheduler.openChannel(id)
            if model.channels[id] == nil { model.channels[id] = Model.Channel() }
        default: try take(room: [0, 1, 5000, 65_536, 300_000][number(0...4)])
        }
        for id in ids { #expect(scheduler.waiting(on: id) == model.waiting(on: id)) }
        #expect(scheduler.isEmpty == model.isEmpty)
    }

    private mutating func add(to id: UInt16) throws {
        for _ in 0..<number(1...4) {
            let bytes = content()
            if id < 16 {
                scheduler.addMessage(bytes, on: id)
                model.add(bytes, isMessage: true, on: id)
            } else {
                scheduler.addChunk(bytes, on: id)
                if !bytes.isEmpty { model.add(bytes, isMessage: false, on: id) }
            }
        }
    }

    private mutating func grant(_ count: Int, on id: UInt16) {
        let credit = model.channels[id]?.credit ?? 0
        let isTaken = scheduler.grant(count, on: id)
        #expect(isTaken == (credit + count <= ChannelScheduler.maximumCredit))
        if isTaken { model.channels[id]?.credit += count }
    }

    private mutating func take(room: Int) throws {
        var output: [UInt8] = []
        let control = model.control.reduce(0) { $0 + $1.wire.count }
        _ = scheduler.dequeue(room: room, into: &output)
        // The frames that end channels come on top.
        #expect(output.count <= max(room, control) + ChannelScheduler.quantum + 2 * Frame.headerLength)
        var reader = FrameReader(limit: Frame.maximumPayload)
        reader.append(output)
        for frame in try reader.rest() { try model.take(frame) }
        #expect(model.control.isEmpty)
        guard output.count < room else { return }
        // There was room for more: nothing that may go was left.
        #expect(scheduler.isIdle)
        for channel in model.channels.values { #expect(channel.pieces.isEmpty || channel.credit == 0) }
    }

    /// Grants whatever is needed, and takes all.
    mutating func finish() throws {
        for id in ids { grant(model.waiting(on: id), on: id) }
        var turns = 0
        while !scheduler.isIdle, turns < 10_000 {
            try take(room: 20_000)
            turns += 1
        }
        #expect(scheduler.isEmpty && model.isEmpty)
    }
}

@Suite(.computing) struct ChannelSchedulerModelTests {
    @Test(arguments: 1...8)
    func `whatever is done, all that is owed goes in order, within credit, and nothing else`(seed: UInt64) throws {
        var trial = Trial(seed: seed)
        for _ in 0..<400 { try trial.step() }
        try trial.finish()
    }
}
