// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Finds the JSON texts in what a program wrote.
struct LiveText {
    /// The objects and lists, each in full.
    private(set) var pieces: [ArraySlice<UInt8>] = []

    init(_ bytes: ArraySlice<UInt8>) {
        var start = bytes.startIndex
        // Where an object or a list on many lines began.
        var open: Int?
        while start < bytes.endIndex {
            let end = Self.end(ofLineAt: start, in: bytes)
            var line = bytes[start..<end]
            if line.starts(with: Self.dataField) { line = line.dropFirst(Self.dataField.count) }
            if let begin = open {
                guard line.first == UInt8(ascii: "}") || line.first == UInt8(ascii: "]") else {
                    start = end + 1
                    continue
                }
                pieces.append(bytes[begin..<(line.startIndex + 1)])
                open = nil
            } else if line.count == 1, Self.isOpening(line.first) {
                open = line.startIndex
            } else if Self.isOpening(line.first), line.last == UInt8(ascii: "}") || line.last == UInt8(ascii: "]") {
                pieces.append(line)
            }
            start = end + 1
        }
    }

    private static let dataField = Array("data: ".utf8)

    private static func isOpening(_ byte: UInt8?) -> Bool { byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") }

    private static func end(ofLineAt start: Int, in bytes: ArraySlice<UInt8>) -> Int {
        unsafe bytes[start...].withUnsafeBytes { rest in
            guard let base = rest.baseAddress, let found = unsafe memchr(base, 0x0A, rest.count) else {
                return bytes.endIndex
            }
            return unsafe start + (UnsafeRawPointer(found) - base)
        }
    }
}
