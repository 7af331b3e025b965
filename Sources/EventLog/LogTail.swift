// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import EventHub
internal import LinuxIO
internal import OrderedJSON

/// The end of a log file: what a crash left there, and the last record before it.
struct LogTail: Equatable {
    /// A line longer than this is none of ours.
    static let longestLine = 1 << 20

    /// How many bytes of the file are good.
    let goodSize: Int64
    /// Whether the last record lacks its line feed.
    let lacksLineFeed: Bool
    /// The last record; `nil` when the file has none.
    let last: RecordHeader?
}

extension LogTail {
    /// Reads the end of a file of `size` bytes.
    ///
    /// What follows the last line feed is a record whose write was cut off, unless it is complete JSON.
    init(reading descriptor: borrowing FileDescriptor, size: Int64) throws(Errno) {
        var lines = BackwardLines(size: size)
        let tail = try lines.next(descriptor)
        if let tail, Self.isRecord(tail.bytes) {
            self.init(goodSize: size, lacksLineFeed: true, last: RecordHeader(line: tail.bytes))
            return
        }
        let goodSize = tail?.offset ?? 0
        while let line = try lines.next(descriptor) {
            guard let header = RecordHeader(line: line.bytes), Self.isRecord(line.bytes) else { continue }
            self.init(goodSize: goodSize, lacksLineFeed: false, last: header)
            return
        }
        self.init(goodSize: goodSize, lacksLineFeed: false, last: nil)
    }

    static func isRecord(_ line: ArraySlice<UInt8>) -> Bool {
        guard line.last == UInt8(ascii: "}"), RecordHeader(line: line) != nil else { return false }
        return (try? JSONValue(parsing: line)) != nil
    }
}

/// Iterates over the lines of a file from its end; the first one is what follows the last line feed, perhaps nothing.
struct BackwardLines {
    struct Line {
        /// Where the line begins.
        let offset: Int64
        /// Its bytes without the line feed; empty when it is too long to be ours.
        let bytes: ArraySlice<UInt8>
    }

    private static let chunk = 65_536
    /// Bytes of the file from `start` to the end of the next line.
    private var buffer: ArraySlice<UInt8> = []
    private var start: Int64
    private var isTooLong = false
    private var isOver = false

    init(size: Int64) {
        start = size
    }

    mutating func next(_ descriptor: borrowing FileDescriptor) throws(Errno) -> Line? {
        if isOver { return nil }
        while true {
            if let feed = buffer.lastIndex(of: 0x0A) {
                let line = buffer[(feed + 1)...]
                let offset = start + Int64(feed + 1 - buffer.startIndex)
                buffer = buffer[..<feed]
                defer { isTooLong = false }
                return Line(offset: offset, bytes: isTooLong ? [] : line)
            }
            if start == 0 {
                isOver = true
                return Line(offset: 0, bytes: isTooLong ? [] : buffer)
            }
            if buffer.count > LogTail.longestLine {
                isTooLong = true
                buffer = []
            }
            let count = min(Int64(Self.chunk), start)
            let chunk = try descriptor.read(at: start - count, upTo: Int(count))
            // A file that shrank meanwhile has nothing more to say.
            guard chunk.count == count else {
                isOver = true
                return nil
            }
            start -= count
            buffer = (chunk + buffer)[...]
        }
    }
}
