// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
public import LinuxIO

public enum RecordingError: Error, Hashable, Sendable {
    /// The file cannot be read.
    case unreadable(Errno)
    /// The first line is not that of a recording, or of a version this program knows.
    case foreign
    /// The line that begins at byte `offset` is not a frame.
    case malformed(line: Int, offset: Int)
    /// The file is larger than `limit` bytes.
    case tooLarge(limit: Int)
}

public struct NetlinkRecording: Hashable, Sendable {
    public struct Entry: Hashable, Sendable {
        /// On the `CLOCK_BOOTTIME` of the recording machine.
        public var boot: Duration
        public var frame: RecordedFrame
    }

    /// The frames, in their order.
    public let entries: [Entry]
    /// Whether the file ends in the middle of a line, as after a crash; the torn line is left out.
    public let isTorn: Bool

    public init(path: String, limit: Int = 512 << 20) throws(RecordingError) {
        var bytes: [UInt8] = []
        do {
            let file = try FileDescriptor(opening: path, flags: O_RDONLY)
            while true {
                let chunk = try file.read(upTo: 1 << 20)
                if chunk.isEmpty { break }
                bytes += chunk
                if bytes.count > limit { break }
            }
        } catch { throw .unreadable(error) }
        guard bytes.count <= limit else { throw .tooLarge(limit: limit) }
        try self.init(bytes: bytes)
    }

    public init(bytes: [UInt8]) throws(RecordingError) {
        let header = Array((RecordingFormat.header + "\n").utf8)
        guard bytes.starts(with: header) else { throw .foreign }
        var entries: [Entry] = []
        var start = header.count
        var line = 2
        while let end = bytes[start...].firstIndex(of: 10) {
            let text = bytes[start..<end]
            if !text.isEmpty && text.first != UInt8(ascii: "#") {
                guard let entry = Entry(text) else { throw .malformed(line: line, offset: start) }
                entries.append(entry)
            }
            start = end + 1
            line += 1
        }
        self.entries = entries
        isTorn = start < bytes.count
    }

    public func wall(at boot: Duration) -> WallTime {
        for entry in entries {
            if case .start(let wall, _) = entry.frame {
                return WallTime(nanoseconds: wall) + (boot - entry.boot)
            }
        }
        return WallTime(nanoseconds: boot.nanoseconds)
    }
}

extension NetlinkRecording.Entry {
    init?(_ line: ArraySlice<UInt8>) {
        let words = line.split(separator: UInt8(ascii: " "), maxSplits: 4, omittingEmptySubsequences: false)
        guard words.count >= 2, let time = Self.number(words[1]) as Int64?, Self.times.contains(time) else {
            return nil
        }
        boot = .nanoseconds(time)
        switch (String(decoding: words[0], as: UTF8.self), words.count) {
        case ("start", 3...):
            guard let wall: Int64 = Self.number(words[2]), Self.times.contains(wall) else { return nil }
            frame = .start(
                wall: wall,
                kernel: String(decoding: Array(words[3...].joined(separator: [32])), as: UTF8.self)
            )
        case ("event", 3):
            guard let bytes = RecordingFormat.bytes(words[2]) else { return nil }
            frame = .event(bytes)
        case ("tcp", 4):
            let source = RecordedConnections.Source(rawValue: String(decoding: words[2], as: UTF8.self))
            guard var connections = source.map({ RecordedConnections(source: $0, bodies: []) }) else { return nil }
            for part in words[3].split(separator: UInt8(ascii: ",")) {
                guard let bytes = RecordingFormat.bytes(part) else { return nil }
                connections.bodies.append(bytes)
            }
            frame = .connections(connections)
        case ("lost", 2): frame = .lost
        case ("end", 2): frame = .end
        case ("ask", 5):
            guard let question = Self.question(words[2]), let outcome = Self.outcome(words[3]),
                let messages = Self.messages(words[4])
            else { return nil }
            frame = .exchange(question, messages, outcome)
        default: return nil
        }
    }

    /// Times that can be added to each other: 146 years since boot or since 1970.
    private static let times: Range<Int64> = 0..<1 << 62

    private static func number<Number: FixedWidthInteger>(_ text: ArraySlice<UInt8>) -> Number? {
        Number(String(decoding: text, as: UTF8.self))
    }

    private static func question(_ text: ArraySlice<UInt8>) -> Question? {
        let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 3, let type: UInt16 = number(parts[0]), let flags: UInt16 = number(parts[1]),
            let body = RecordingFormat.bytes(parts[2])
        else { return nil }
        return Question(type: type, flags: flags, body: body)
    }

    private static func outcome(_ text: ArraySlice<UInt8>) -> RecordedOutcome? {
        switch String(decoding: text, as: UTF8.self) {
        case "ok": return .completed(.done(isConsistent: true))
        case "torn": return .completed(.done(isConsistent: false))
        case "stopped": return .completed(.stopped)
        case let word where word.hasPrefix("error="): return Int32(word.dropFirst(6)).map { .failed($0) }
        default: return nil
        }
    }

    private static func messages(_ text: ArraySlice<UInt8>) -> [RecordedMessage]? {
        var messages: [RecordedMessage] = []
        for part in text.split(separator: UInt8(ascii: ",")) {
            guard let bytes = RecordingFormat.bytes(part), bytes.count >= 2 else { return nil }
            messages.append(RecordedMessage(type: bytes.span.host16(at: 0), body: Array(bytes.dropFirst(2))))
        }
        return messages
    }
}
