// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import FuzzKit

@testable import PeerEngine

/// Whatever a peer, or a stranger, sends: frames and what they say, announcements, places of sessions, datagrams.
///
/// The first byte says which, and how long the pieces are.
@main enum FuzzPeerEngine {
    static func main() {
        unsafe Fuzzer.run { start, count in
            FuzzPeerEngine.examine(unsafe UnsafeBufferPointer(start: start, count: count).span)
            return 0
        }
    }

    private static func examine(_ input: Span<UInt8>) {
        var reader = InputReader(input)
        let first = reader.byte()
        if first % 5 == 4 { return Datagrams.examine(&reader) }
        let rest = reader.bytes(input.count)
        let bytes = rest.indices.map { rest[$0] }
        switch first % 5 {
        case 0: examineFrames(bytes, in: Int(first / 5) + 1)
        case 1: examineMessage(bytes)
        case 2: examineAnnouncement(bytes)
        default: examinePlace(bytes)
        }
    }

    /// Frames are the same in any pieces, and so is the error.
    private static func examineFrames(_ bytes: [UInt8], in size: Int) {
        let limit = size % 2 == 0 ? 64 : Frame.maximumPayload
        let whole = read(bytes, in: bytes.count, limit: limit)
        require(read(bytes, in: size, limit: limit) == whole, "pieces tell another story")
        var wire: [UInt8] = []
        for frame in whole.frames {
            require(frame.payload.count <= limit, "a long frame")
            frame.append(to: &wire)
            check(frame)
        }
        require(bytes.starts(with: wire), "frames are written as others")
    }

    private struct Reading: Equatable {
        var frames: [Frame] = []
        var error: FrameError?
    }

    private static func read(_ bytes: [UInt8], in size: Int, limit: Int) -> Reading {
        var (reader, reading) = (FrameReader(limit: limit), Reading())
        do throws(FrameError) {
            for start in stride(from: 0, to: bytes.count, by: max(size, 1)) {
                unsafe bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { unsafe reader.append($0) }
                while let frame = try reader.next() { reading.frames.append(frame) }
            }
        } catch {
            reading.error = error
        }
        return reading
    }

    /// A payload of a kind that the first byte says.
    private static func examineMessage(_ bytes: [UInt8]) {
        guard let first = bytes.first, let kind = Frame.Kind(rawValue: first) else { return }
        check(Frame(kind: kind, payload: Array(bytes.dropFirst())))
    }

    /// What was understood is said in a way that is understood the same.
    private static func check(_ frame: Frame) {
        guard let message = try? ControlMessage(frame) else { return }
        let again = message.frame(channel: frame.channel)
        require(again.kind == frame.kind, "a message became one of another kind")
        require(again.payload.count <= Frame.maximumPayload, "a message that no peer takes")
        require((try? ControlMessage(again)) == message, "a message reads back as another")
    }

    private static func examineAnnouncement(_ bytes: [UInt8]) {
        guard let announcement = PeerAnnouncement(TextRecord(data: bytes).entries) else { return }
        require(PeerRules.problem(ofName: announcement.name) == nil, "a name that must not be")
        require(PeerRules.problem(ofServiceType: announcement.serviceType) == nil, "a type that must not be")
        require(PeerAnnouncement.pointer(announcement.serviceType) != nil, "a type without a name on the links")
        require(PeerAnnouncement(announcement.text) == announcement, "an announcement reads back as another")
    }

    private static func examinePlace(_ bytes: [UInt8]) {
        guard let place = PeerEndpoint(bytes, scopes: [7]) else { return }
        require(place.addresses.count <= ControlMessage.maximumAddresses, "more addresses than may be")
        guard let again = PeerEndpoint(place.bytes, scopes: [7]) else { fatalError("cannot read what it wrote") }
        require(again == place && again.peer.name == place.peer.name, "a place reads back as another")
        require(
            (PeerEndpoint(bytes, scopes: [])?.addresses.count ?? 0) <= place.addresses.count,
            "addresses of no link"
        )
    }
}
