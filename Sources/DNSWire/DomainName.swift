// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A domain name: an ordered list of labels, each an opaque string of bytes.
///
/// Labels are never joined to text inside the program, because any byte may occur in one (RFC 6763 section 4.3).
/// Comparison folds the ASCII letters and nothing else (RFC 6762 section 16).
public struct DomainName: Sendable {
    /// Labels in the form of RFC 1035 section 3.1: a length byte before each, without the root's.
    ///
    /// A length is at most 63, below every ASCII letter, so the whole array can be lowercased byte by byte.
    let wire: [UInt8]
    /// A hash of the lowercased bytes, different in each process: lookups are far more frequent
    /// than creation.
    private let fingerprint: UInt64

    /// The longest name in bytes, with length bytes, without the root (RFC 6762 appendix C).
    public static let maximumLength = 255
    /// The longest label in bytes.
    public static let maximumLabelLength = 63

    init(wire: [UInt8]) {
        self.wire = wire
        fingerprint = Fingerprint.ofNormalized(wire.span)
    }

    /// The root: no labels.
    public init() { self.init(wire: []) }

    /// Makes a name of labels, the leftmost first.
    /// - Throws: WireError/labelLength(_:) or WireError/nameTooLong.
    public init(labels: [[UInt8]]) throws(WireError) {
        var wire: [UInt8] = []
        for label in labels {
            guard (1...Self.maximumLabelLength).contains(label.count) else { throw .labelLength(label.count) }
            wire.append(UInt8(label.count))
            wire += label
        }
        guard wire.count <= Self.maximumLength else { throw .nameTooLong }
        self.init(wire: wire)
    }

    /// The labels, the leftmost first.
    public var labels: [[UInt8]] {
        var labels: [[UInt8]] = []
        var offset = 0
        while offset < wire.count {
            let end = offset + 1 + Int(wire[offset])
            labels.append(Array(wire[(offset + 1)..<end]))
            offset = end
        }
        return labels
    }

    /// The length in bytes, with length bytes, without the root.
    public var length: Int { wire.count }

    public var labelCount: Int {
        var count = 0
        var offset = 0
        while offset < wire.count {
            offset += 1 + Int(wire[offset])
            count += 1
        }
        return count
    }

    /// The leftmost label; `nil` for the root.
    public var firstLabel: [UInt8]? {
        guard let length = wire.first else { return nil }
        return Array(wire[1...Int(length)])
    }

    /// The first byte of the leftmost label; `nil` for the root.
    public var firstByte: UInt8? { wire.isEmpty ? nil : wire[1] }

    /// The name without its leftmost label; the root stays the root.
    public var parent: DomainName {
        guard let length = wire.first else { return self }
        return DomainName(wire: Array(wire[(1 + Int(length))...]))
    }

    /// The first `count` labels, or all when there are fewer.
    public func prefix(_ count: Int) -> DomainName {
        var end = 0
        for _ in 0..<max(count, 0) where end < wire.count { end += 1 + Int(wire[end]) }
        return DomainName(wire: Array(wire[..<end]))
    }

    /// This name below `parent`: its labels, then those of `parent`.
    /// - Throws: WireError/nameTooLong.
    public func appending(_ parent: DomainName) throws(WireError) -> DomainName {
        guard wire.count + parent.wire.count <= Self.maximumLength else { throw .nameTooLong }
        return DomainName(wire: wire + parent.wire)
    }

    /// Whether this name is `ancestor` or lies below it.
    public func isWithin(_ ancestor: DomainName) -> Bool {
        var offset = 0
        while wire.count - offset > ancestor.wire.count { offset += 1 + Int(wire[offset]) }
        return wire.count - offset == ancestor.wire.count && Self.matches(wire.span, from: offset, ancestor.wire.span)
    }

    static func fold(_ byte: UInt8) -> UInt8 {
        byte &- 65 < 26 ? byte | 0x20 : byte
    }

    /// Whether what `left` has from there on is `right`, ignoring the case of ASCII letters.
    private static func matches(_ left: Span<UInt8>, from offset: Int, _ right: Span<UInt8>) -> Bool {
        guard left.count - offset == right.count else { return false }
        for index in right.indices where left[offset + index] != right[index] {
            guard fold(left[offset + index]) == fold(right[index]) else { return false }
        }
        return true
    }
}

extension DomainName: Hashable {
    /// Whether the names are the same, ignoring the case of ASCII letters.
    public static func == (left: DomainName, right: DomainName) -> Bool {
        left.fingerprint == right.fingerprint && matches(left.wire.span, from: 0, right.wire.span)
    }

    /// Hashes the lowercased bytes.
    public func hash(into hasher: inout Hasher) { hasher.combine(fingerprint) }
}

extension DomainName: Comparable {
    /// An order for display and for stable output: by lowercased bytes.
    public static func < (left: DomainName, right: DomainName) -> Bool {
        left.wire.lexicographicallyPrecedes(right.wire) { fold($0) < fold($1) }
    }
}
