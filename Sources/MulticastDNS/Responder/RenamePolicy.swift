// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire

/// The next name to try after a conflict (rule P12).
enum RenamePolicy {
    /// The service name after this one: `Lamp` is followed by `Lamp (2)`, and that by `Lamp (3)`.
    ///
    /// It is cut at a character so that the label stays within 63 bytes.
    static func service(after label: [UInt8]) -> [UInt8] {
        let (stem, number) = split(label, opening: Array(" (".utf8), closing: Array(")".utf8))
        return join(stem, Array(" (\(number + 1))".utf8))
    }

    /// The host label after this one: `host` is followed by `host-2`, and that by `host-3`.
    static func host(after label: [UInt8]) -> [UInt8] {
        let (stem, number) = split(label, opening: [UInt8(ascii: "-")], closing: [])
        return join(stem, Array("-\(number + 1)".utf8))
    }

    /// Splits off a number from 2 to 999999; a label without one counts as the first.
    private static func split(_ label: [UInt8], opening: [UInt8], closing: [UInt8]) -> (stem: [UInt8], number: Int) {
        guard label.suffix(closing.count).elementsEqual(closing) else { return (label, 1) }
        let inner = label.dropLast(closing.count)
        let digits = inner.reversed().prefix { (48...57).contains($0) }.reversed()
        let stem = inner.dropLast(digits.count)
        guard (1...6).contains(digits.count), digits.first != 48, stem.count > opening.count,
            stem.suffix(opening.count).elementsEqual(opening)
        else { return (label, 1) }
        let number = digits.reduce(0) { $0 * 10 + Int($1) - 48 }
        return number < 2 || number >= 999_999 ? (label, 1) : (Array(stem.dropLast(opening.count)), number)
    }

    private static func join(_ stem: [UInt8], _ ending: [UInt8]) -> [UInt8] {
        var kept = stem.prefix(DomainName.maximumLabelLength - ending.count)
        if kept.count < stem.count {
            // Back to the beginning of a character: continuation bytes are 10xxxxxx.
            while let next = stem[kept.count...].first, next & 0xC0 == 0x80, !kept.isEmpty { kept.removeLast() }
        }
        return kept + ending
    }
}
