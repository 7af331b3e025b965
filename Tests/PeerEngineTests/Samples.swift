// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import PeerEngine

/// A key whose order is that of its number.
func key(_ number: Int) throws -> PeerKey {
    let head = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    return try #require(PeerKey(bytes: head + [UInt8](repeating: 0, count: PeerKey.length - 4)))
}

extension Frame {
    /// The frame as it is on the wire.
    var wire: [UInt8] {
        var output: [UInt8] = []
        append(to: &output)
        return output
    }
}

extension FrameReader {
    mutating func append(_ bytes: [UInt8]) { unsafe bytes.withUnsafeBytes { unsafe append($0) } }

    /// All frames that are complete.
    mutating func rest() throws(FrameError) -> [Frame] {
        var frames: [Frame] = []
        while let frame = try next() { frames.append(frame) }
        return frames
    }
}

extension SeededRandom {
    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) } }
}
