// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PeerEngine

@Suite struct FrameTests {
    @Test func `has length, kind, flags and channel before the payload, in network order`() {
        let frame = Frame(kind: .fragment, flags: Frame.isLast, channel: 0x1234, payload: [9, 8])
        #expect(frame.wire == [0, 0, 0, 2, 32, 1, 0x12, 0x34, 9, 8])
        #expect(Frame(kind: .ping).wire == [0, 0, 0, 0, 9, 0, 0, 0])
    }

    @Test(arguments: [0, 1, 255, 256, 65_536, 0x0102_0304])
    func `a header tells the length of what follows in four bytes`(count: Int) {
        var output: [UInt8] = [7]
        Frame.appendHeader(.chunk, flags: 2, channel: 0xFFFE, count: count, to: &output)
        let length = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) }
        #expect(output == [7] + length + [33, 2, 0xFF, 0xFE])
    }

    @Test func `numbers of kinds stay as they are`() {
        #expect(Frame.Kind.allCases.map(\.rawValue) == Array(0...15) + [32, 33, 35])
    }
}
