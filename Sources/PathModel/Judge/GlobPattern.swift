// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A pattern with `*`, `?`, `[…]` and `\\`, as fnmatch(3) without flags; it works on bytes.
public struct GlobPattern: Hashable, Sendable {
    /// The pattern as written.
    public let text: String
    private let bytes: [UInt8]

    /// Takes any text: a bracket that is never closed stands for itself.
    public init(_ text: String) {
        self.text = text
        bytes = Array(text.utf8)
    }

    /// Whether the pattern has no special character.
    public var isExact: Bool {
        !bytes.contains { [UInt8(ascii: "*"), UInt8(ascii: "?"), UInt8(ascii: "["), UInt8(ascii: "\\")].contains($0) }
    }

    /// Whether the whole of `name` matches; takes time in the product of both lengths at worst.
    public func matches(_ name: String) -> Bool {
        let name = Array(name.utf8)
        var (place, at) = (0, 0)
        var retry: (place: Int, at: Int)?
        while at < name.count {
            if place < bytes.count, bytes[place] == UInt8(ascii: "*") {
                retry = (place + 1, at)
                place += 1
            } else if place < bytes.count, let next = step(from: place, over: name[at]) {
                place = next
                at += 1
            } else if let again = retry {
                retry = (again.place, again.at + 1)
                (place, at) = (again.place, again.at + 1)
            } else {
                return false
            }
        }
        while place < bytes.count, bytes[place] == UInt8(ascii: "*") { place += 1 }
        return place == bytes.count
    }

    /// The place after one element of the pattern, when that element matches the byte.
    private func step(from place: Int, over byte: UInt8) -> Int? {
        switch bytes[place] {
        case UInt8(ascii: "?"):
            return place + 1
        case UInt8(ascii: "\\") where place + 1 < bytes.count:
            return bytes[place + 1] == byte ? place + 2 : nil
        case UInt8(ascii: "["):
            guard let (isMember, end) = bracket(from: place + 1, over: byte) else {
                return byte == UInt8(ascii: "[") ? place + 1 : nil
            }
            return isMember ? end : nil
        default:
            return bytes[place] == byte ? place + 1 : nil
        }
    }

    /// Reads a bracket expression; `nil` when it is not closed.
    private func bracket(from start: Int, over byte: UInt8) -> (isMember: Bool, end: Int)? {
        var place = start
        var isMember = false
        let isNegated = place < bytes.count && (bytes[place] == UInt8(ascii: "!") || bytes[place] == UInt8(ascii: "^"))
        if isNegated { place += 1 }
        let first = place
        while place < bytes.count, bytes[place] != UInt8(ascii: "]") || place == first {
            let low = bytes[place]
            let isRange =
                place + 2 < bytes.count && bytes[place + 1] == UInt8(ascii: "-")
                && bytes[place + 2] != UInt8(ascii: "]")
            let high = isRange ? bytes[place + 2] : low
            if low <= high, (low...high).contains(byte) { isMember = true }
            place += isRange ? 3 : 1
        }
        guard place < bytes.count else { return nil }
        return (isMember != isNegated, place + 1)
    }
}
