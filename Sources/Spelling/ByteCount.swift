// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A number of bytes, written as people write it: `4096`, `16KiB`, `10MiB` or `1GiB`.
public struct ByteCount: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// What a reader is told when a text is not a size.
    public static let expectation = "a size such as 4096, 16KiB, 10MiB or 1GiB"

    /// A regular expression (ECMA 262) that accepts the same texts, for schemas.
    public static let pattern = "^[0-9]+(B|KiB|MiB|GiB)?$"

    private static let units: [(name: String, bytes: Int)] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]

    public let bytes: Int

    /// Wraps a number of bytes.
    public init(bytes: Int) {
        self.bytes = bytes
    }

    /// 1,048,576 bytes, so many times.
    public static func mebibytes(_ count: Int) -> ByteCount { ByteCount(bytes: count << 20) }

    /// 1,024 bytes, so many times.
    public static func kibibytes(_ count: Int) -> ByteCount { ByteCount(bytes: count << 10) }

    /// Reads a size; without a unit, and with `B`, it counts bytes.
    /// - Returns: `nil` when the text is not one or exceeds the machine's integers.
    public init?(_ text: some StringProtocol) {
        let digits = text.prefix { ("0"..."9").contains($0) }
        guard !digits.isEmpty, let number = Int(digits) else { return nil }
        let name = text[digits.endIndex...]
        guard let unit = name.isEmpty || name == "B" ? 1 : Self.units.first(where: { $0.name == name })?.bytes else {
            return nil
        }
        let (bytes, overflows) = number.multipliedReportingOverflow(by: unit)
        guard !overflows else { return nil }
        self.bytes = bytes
    }

    /// Fewer bytes come first.
    public static func < (left: ByteCount, right: ByteCount) -> Bool { left.bytes < right.bytes }

    /// The largest unit that needs no fraction, such as `16MiB`; plain bytes have no unit.
    public var description: String {
        guard bytes > 0, let unit = Self.units.first(where: { bytes % $0.bytes == 0 }) else { return "\(bytes)" }
        return "\(bytes / unit.bytes)\(unit.name)"
    }
}
