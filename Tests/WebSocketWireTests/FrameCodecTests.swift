// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WebSocketWire

/// What the pieces of one frame say together.
private struct Frame: Equatable {
    var opcode: UInt8
    var isFinal: Bool
    var isMasked: Bool
    var payload: [UInt8]
    var pieces: Int
}

private func frames(_ bytes: [UInt8], step: Int) throws -> [Frame] {
    var codec = FrameCodec(makeMask: { 0 })
    var frames: [Frame] = []
    for start in stride(from: 0, to: bytes.count, by: step) {
        codec.feed(Array(bytes[start..<min(start + step, bytes.count)]))
        while let piece = try codec.next() {
            if piece.isStart {
                frames.append(
                    Frame(
                        opcode: piece.opcode,
                        isFinal: piece.isFinal,
                        isMasked: piece.isMasked,
                        payload: [],
                        pieces: 0
                    )
                )
            }
            frames[frames.count - 1].payload += piece.bytes
            frames[frames.count - 1].pieces += 1
            #expect(piece.isEnd == (UInt64(frames[frames.count - 1].payload.count) == piece.length))
        }
    }
    return frames
}

@Suite struct FrameCodecTests {
    @Test(arguments: [1, 2, 5, 13, 1000, 100_000])
    func `what was encoded is read, whatever the pieces`(step: Int) throws {
        var bytes: [UInt8] = []
        var expected: [Frame] = []
        // A side of a connection masks every frame or none.
        let client = FrameCodec(makeMask: { 0xA1B2_C3D4 })
        let server = FrameCodec(makeMask: { 0 })
        for (number, count) in [0, 1, 125, 126, 300, 5000, 70_000].enumerated() where step > 10 || count < 400 {
            let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 31 + number) }
            for isMasked in [true, false] {
                bytes +=
                    isMasked
                    ? client.encode(2, payload, isFinal: count != 300, isMasked: true)
                    : server.encode(2, payload, isFinal: count != 300, isMasked: false)
                let frame = Frame(opcode: 2, isFinal: count != 300, isMasked: isMasked, payload: payload, pieces: 1)
                expected.append(frame)
            }
        }
        let found = try frames(bytes, step: step)
        #expect(found.map(\.payload) == expected.map(\.payload))
        #expect(found.map(\.isFinal) == expected.map(\.isFinal))
        #expect(found.map(\.isMasked) == expected.map(\.isMasked))
        #expect(found.allSatisfy { $0.opcode == 2 })
    }

    @Test func `a long frame comes in pieces of bounded length`() throws {
        let codec = FrameCodec(makeMask: { 0 })
        let found = try frames(codec.encode(1, [UInt8](repeating: 65, count: 100_000), isMasked: true), step: 200_000)
        #expect(found.count == 1 && found[0].payload.count == 100_000)
        #expect(found[0].pieces >= 100_000 / 4096)
    }

    @Test func `the key masks each byte by its place`() {
        let codec = FrameCodec(makeMask: { 0x0102_0304 })
        let bytes = codec.encode(2, [0, 0, 0, 0, 0xFF, 0xFF], isMasked: true)
        #expect(bytes == [0x82, 0x86, 1, 2, 3, 4, 1, 2, 3, 4, 0xFE, 0xFD])
    }

    @Test func `bytes that were not read stay for later`() throws {
        var codec = FrameCodec(makeMask: { 0 })
        let frame = codec.encode(9, [7], isMasked: false)
        codec.feed(frame + frame.dropLast())
        #expect(try codec.next()?.bytes == [7])
        codec.feed([8] + frame)
        #expect(try codec.next()?.bytes == [8])
        #expect(try codec.next()?.bytes == [7])
        #expect(try codec.next() == nil)
    }

    @Test(
        arguments: [
            [0x09, 0x00], [0x89, 0x7E, 0, 126], [0x88, 0x7F, 0, 0, 0, 0, 0, 0, 0, 1], [0x82, 0x7E, 0, 0],
            [0x82, 0x7F, 0, 0, 0, 0, 0, 0, 0, 0], [0x82, 0x7F, 0xFF, 0, 0, 0, 0, 0, 0, 0],
        ] as [[UInt8]]
    )
    func `a head that must not be is refused`(bytes: [UInt8]) {
        #expect(throws: WebSocketFailure.malformedFrame) { try frames(bytes, step: 100) }
        #expect(throws: WebSocketFailure.malformedFrame) { try frames(bytes, step: 1) }
    }

    @Test(
        arguments: [
            (.malformedFrame, .protocolError), (.reservedBits, .protocolError), (.unknownOpcode(3), .protocolError),
            (.wrongMasking, .protocolError), (.strayContinuation, .protocolError), (.malformedClose, .protocolError),
            (.interleavedMessage, .protocolError), (.invalidText, .invalidData),
            (.messageTooLong(limit: 1), .messageTooLong),
        ] as [(WebSocketFailure, WebSocketCloseCode)]
    )
    func `every failure has its code`(failure: WebSocketFailure, code: WebSocketCloseCode) {
        #expect(failure.closeCode == code && code.isSendable)
    }
}
