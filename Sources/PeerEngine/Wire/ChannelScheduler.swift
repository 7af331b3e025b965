// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// What goes next on a connection: agreed content first, then the channels by round robin, within their credit; pure.
///
/// Each round is a quantum of bytes, so that a channel of large pieces gets no more than one of small ones: deficit
/// round robin (Shreedhar and Varghese, 1995), but pieces are cut where a round ends, so that nothing is left of it.
struct ChannelScheduler: Sendable {
    /// One piece of content.
    private struct Piece: Sendable {
        let kind: Frame.Kind
        var bytes: [UInt8]
        /// How far it has gone.
        var offset = 0
        let isMessage: Bool
    }

    private struct Channel: Sendable {
        var pieces: [Piece] = []
        var first = 0
        var credit: Int
        var waiting = 0
        var isPlanned = false
        /// What is said when all has gone.
        var ending: Frame?

        var isEmpty: Bool { first == pieces.count }
    }

    /// How much a peer accepts on a channel before it has said more.
    static let initialCredit = 256 << 10
    static let quantum = 32 << 10
    /// How much a peer may grant at most; more makes no sense.
    static let maximumCredit = 1 << 30

    private var control: [Frame] = []
    private var channels: [UInt16: Channel] = [:]
    private var ready: [UInt16] = []
    private var firstReady = 0

    /// Whether nothing at all can go now.
    var isIdle: Bool { control.isEmpty && firstReady == ready.count }
    /// Whether nothing is left that has not gone.
    var isEmpty: Bool { control.isEmpty && channels.values.allSatisfy { $0.isEmpty && $0.ending == nil } }

    /// How many frames wait that no credit holds back.
    var controlCount: Int { control.count }

    /// How many bytes wait on a channel.
    func waiting(on channel: UInt16) -> Int { channels[channel]?.waiting ?? 0 }

    mutating func add(_ frame: Frame) { control.append(frame) }

    mutating func openChannel(_ id: UInt16) {
        if channels[id] == nil { channels[id] = Channel(credit: Self.initialCredit) }
    }

    /// Forgets a channel with what waits on it.
    mutating func closeChannel(_ id: UInt16) {
        guard let channel = channels.removeValue(forKey: id), channel.isPlanned else { return }
        // Its entry would be a second one of a channel that is opened under the same number.
        ready[firstReady...].removeAll { $0 == id }
    }

    mutating func addMessage(_ bytes: [UInt8], on id: UInt16) {
        add(Piece(kind: .fragment, bytes: bytes, isMessage: true), to: id)
    }

    mutating func addChunk(_ bytes: [UInt8], on id: UInt16) {
        guard !bytes.isEmpty else { return }
        add(Piece(kind: .chunk, bytes: bytes, isMessage: false), to: id)
    }

    /// Puts a message instead of one that waits and has not begun: the latest is wanted.
    mutating func replaceMessage(_ bytes: [UInt8], on id: UInt16) {
        guard var channel = channels[id] else { return }
        let begun = channel.isEmpty || channel.pieces[channel.first].offset == 0 ? 0 : 1
        let dropped = channel.pieces[(channel.first + begun)...].reduce(0) { $0 + $1.bytes.count }
        channel.pieces.removeSubrange((channel.first + begun)...)
        channel.waiting -= dropped
        channels[id] = channel
        addMessage(bytes, on: id)
    }

    /// Says something when all that waits on a channel has gone.
    mutating func end(_ id: UInt16, with frame: Frame) {
        guard let channel = channels[id] else { return }
        if channel.isEmpty { control.append(frame) } else { channels[id]?.ending = frame }
    }

    private mutating func add(_ piece: Piece, to id: UInt16) {
        channels[id]?.pieces.append(piece)
        channels[id]?.waiting += piece.bytes.count
        plan(id)
    }

    /// Applies what the peer grants.
    /// - Returns: `false` when it grants more than there can be room for.
    mutating func grant(_ count: Int, on id: UInt16) -> Bool {
        guard let channel = channels[id] else { return true }
        guard channel.credit + count <= Self.maximumCredit else { return false }
        channels[id]?.credit += count
        plan(id)
        return true
    }

    private mutating func plan(_ id: UInt16) {
        guard let channel = channels[id], !channel.isPlanned, !channel.isEmpty else { return }
        // An empty message costs nothing.
        guard channel.credit > 0 || channel.pieces[channel.first].bytes.isEmpty else { return }
        channels[id]?.isPlanned = true
        ready.append(id)
    }

    /// Appends what goes next, until there is nothing, or as much as `room` and a quantum more.
    /// - Returns: How many bytes of content went on which channel.
    mutating func dequeue(room: Int, into output: inout [UInt8]) -> [(channel: UInt16, count: Int)] {
        var gone: [(channel: UInt16, count: Int)] = []
        let start = output.count
        for frame in control { frame.append(to: &output) }
        control.removeAll(keepingCapacity: true)
        while output.count - start < room, firstReady < ready.count {
            let id = ready[firstReady]
            firstReady += 1
            guard channels[id] != nil else { continue }
            let count = serve(id, into: &output)
            if count > 0 { gone.append((id, count)) }
            for frame in control { frame.append(to: &output) }
            control.removeAll(keepingCapacity: true)
        }
        if firstReady > 64, firstReady * 2 > ready.count {
            ready.removeFirst(firstReady)
            firstReady = 0
        }
        return gone
    }

    /// Serves a channel for one round.
    private mutating func serve(_ id: UInt16, into output: inout [UInt8]) -> Int {
        guard var channel = channels.removeValue(forKey: id) else { return 0 }
        channel.isPlanned = false
        var deficit = Self.quantum
        var gone = 0
        while !channel.isEmpty, deficit > 0 {
            let index = channel.first
            let left = channel.pieces[index].bytes.count - channel.pieces[index].offset
            let count = min(left, deficit, channel.credit)
            guard count > 0 || left == 0 else { break }
            let offset = channel.pieces[index].offset
            let isOver = count == left
            let flags = isOver && channel.pieces[index].isMessage ? Frame.isLast : 0
            let kind = channel.pieces[index].kind
            Frame.appendHeader(kind, flags: flags, channel: id, count: count, to: &output)
            output += channel.pieces[index].bytes[offset..<offset + count]
            channel.pieces[index].offset += count
            channel.credit -= count
            // A header costs as much as its bytes, so that empty messages end a round, too.
            deficit -= min(count + Frame.headerLength, deficit)
            channel.waiting -= count
            gone += count
            guard isOver else { continue }
            channel.pieces[index].bytes = []
            channel.first += 1
        }
        if channel.first > 256, channel.first * 2 > channel.pieces.count {
            channel.pieces.removeFirst(channel.first)
            channel.first = 0
        }
        if channel.isEmpty {
            channel.pieces.removeAll(keepingCapacity: true)
            channel.first = 0
            if let ending = channel.ending {
                channel.ending = nil
                control.append(ending)
            }
        }
        channels[id] = channel
        plan(id)
        return gone
    }
}
