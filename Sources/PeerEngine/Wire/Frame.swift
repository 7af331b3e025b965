// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A piece of what two peers say to one another, upon TLS.
///
/// On the wire: the payload's length in 4 bytes, the kind, flags, the channel in 2 bytes, the payload; numbers in network
/// order.
struct Frame: Hashable, Sendable {
    enum Kind: UInt8, CaseIterable {
        // What is agreed upon; the payload is JSON unless it says otherwise.
        case hello = 0
        case invite = 1
        case accept = 2
        case decline = 3
        case join = 4
        case members = 5
        /// A certificate in DER.
        case certificate = 6
        /// The signature by the first certificate's key of what the connection alone has.
        case proof = 7
        case bye = 8
        /// Without a payload, as is the answer.
        case ping = 9
        case pong = 10
        case open = 11
        /// The sender of a channel sends no more.
        case end = 12
        /// One end of a channel is not interested any more.
        case reset = 13
        /// All of a resource has arrived and is kept.
        case done = 14
        /// What an invitation comes with, as it is.
        case context = 15
        // Content.
        case fragment = 32
        case chunk = 33
        /// How many bytes more the peer may send on a channel, in 4 bytes.
        case credit = 35
    }

    static let headerLength = 8
    static let maximumPayload = 64 << 10
    /// Of a fragment: the message is complete with it.
    static let isLast: UInt8 = 1
    /// Of a reset: it was not wanted.
    static let isFailure: UInt8 = 1

    let kind: Kind
    var flags: UInt8 = 0
    var channel: UInt16 = 0
    var payload: [UInt8] = []

    /// Appends it as it is on the wire.
    func append(to output: inout [UInt8]) {
        Self.appendHeader(kind, flags: flags, channel: channel, count: payload.count, to: &output)
        output += payload
    }

    /// Appends a header for a payload that follows.
    static func appendHeader(_ kind: Kind, flags: UInt8, channel: UInt16, count: Int, to output: inout [UInt8]) {
        let length = UInt32(count)
        for shift in [UInt32(24), 16, 8, 0] { output.append(UInt8(truncatingIfNeeded: length >> shift)) }
        output.append(kind.rawValue)
        output.append(flags)
        output.append(UInt8(channel >> 8))
        output.append(UInt8(channel & 0xFF))
    }
}

/// What makes a stream of frames none; the connection ends.
enum FrameError: Error, Hashable, Sendable {
    case tooLong(Int)
    case unknownKind(UInt8)
    /// A frame that is not allowed where it came, or whose payload is not what its kind has.
    case misplaced(Frame.Kind)
}

/// Cuts what arrives into frames; pure.
struct FrameReader: Sendable {
    /// Maximum payload; lower before authentication.
    var limit: Int
    private var buffer: [UInt8] = []
    private var offset = 0

    init(limit: Int) { self.limit = limit }

    /// Appends bytes as they come.
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if offset > 0 {
            buffer.removeFirst(offset)
            offset = 0
        }
        unsafe buffer += [UInt8](unsafeUninitializedCapacity: bytes.count) { room, count in
            unsafe UnsafeMutableRawBufferPointer(room).copyMemory(from: bytes)
            count = bytes.count
        }
    }

    /// The next frame.
    /// - Returns: `nil` when more is needed.
    mutating func next() throws(FrameError) -> Frame? {
        guard buffer.count - offset >= Frame.headerLength else { return nil }
        let length = buffer[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
        guard length <= limit else { throw .tooLong(length) }
        guard let kind = Frame.Kind(rawValue: buffer[offset + 4]) else { throw .unknownKind(buffer[offset + 4]) }
        let start = offset + Frame.headerLength
        guard buffer.count - start >= length else { return nil }
        let channel = UInt16(buffer[offset + 6]) << 8 | UInt16(buffer[offset + 7])
        let frame = Frame(
            kind: kind,
            flags: buffer[offset + 5],
            channel: channel,
            payload: Array(buffer[start..<start + length])
        )
        offset = start + length
        if offset == buffer.count {
            buffer.removeAll(keepingCapacity: true)
            offset = 0
        }
        return frame
    }
}
