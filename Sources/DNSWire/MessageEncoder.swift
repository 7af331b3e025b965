// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// Writes a message, record by record, as long as it fits into a size.
///
/// Names are compressed against everything written before (RFC 1035 section 4.1.4), byte for byte so that their case
/// survives. When a record does not fit, the caller finishes this message and starts the next.
public struct MessageEncoder: Sendable {
    /// The parts of a message, in their order.
    public enum Section: Int, Sendable, Comparable {
        case question
        /// Answers, or known answers.
        case answer
        /// Authorities, or proposed records.
        case authority
        case additional

        /// By position in the message.
        public static func < (left: Section, right: Section) -> Bool { left.rawValue < right.rawValue }
    }

    /// The most bytes the message may have.
    public let limit: Int
    private let compressesServiceTargets: Bool
    private var bytes: [UInt8]
    private var counts: [UInt16] = [0, 0, 0, 0]
    private var section = Section.question
    private var names = CompressionTable()

    /// Starts a message.
    /// - Parameters:
    ///   - id: The id; 0 in multicast messages.
    ///   - flags: The flags; ``finish(truncated:)`` can add one.
    ///   - limit: The most bytes, clamped to 12 to 9,000.
    ///   - compressesServiceTargets: Whether SRV targets are compressed; not for legacy unicast answers
    ///     (RFC 6762 section 18.14).
    public init(
        id: UInt16 = 0,
        flags: Message.Flags,
        limit: Int = Message.maximumLength,
        compressesServiceTargets: Bool = true
    ) {
        self.limit = min(max(limit, 12), Message.maximumLength)
        self.compressesServiceTargets = compressesServiceTargets
        bytes = []
        bytes.reserveCapacity(512)
        for word in [id, flags.rawValue, 0, 0, 0, 0] { put(word) }
    }

    /// How many questions and records were written.
    public var count: Int { counts.reduce(0) { $0 + Int($1) } }

    public var length: Int { bytes.count }

    /// Adds a question.
    /// - Returns: `false`, and nothing is added, when it does not fit or a record was added before.
    public mutating func append(_ question: Question) -> Bool {
        write(to: .question) { encoder in
            encoder.put(question.name, compressed: true)
            encoder.put(question.type.rawValue)
            encoder.put(question.classCode & 0x7FFF | (question.wantsUnicast ? 0x8000 : 0))
        }
    }

    /// Adds a record.
    /// - Returns: `false`, and nothing is added, when it does not fit or a later section was begun.
    public mutating func append(_ record: ResourceRecord, to section: Section = .answer) -> Bool {
        guard section != .question else { return false }
        return write(to: section) { encoder in
            encoder.put(record.name, compressed: true)
            encoder.put(record.type.rawValue)
            let isOptions = record.type == .opt
            encoder.put(isOptions ? record.classCode : record.classCode & 0x7FFF | (record.flushesCache ? 0x8000 : 0))
            encoder.put(UInt16(record.timeToLive >> 16))
            encoder.put(UInt16(truncatingIfNeeded: record.timeToLive))
            let lengthOffset = encoder.bytes.count
            encoder.put(0)
            encoder.put(record.data)
            encoder.set(UInt16(truncatingIfNeeded: encoder.bytes.count - lengthOffset - 2), at: lengthOffset)
        }
    }

    /// The message as written so far; `truncated` says that more follows in another one (TC).
    public func finish(truncated: Bool = false) -> [UInt8] {
        var copy = self
        for (index, count) in counts.enumerated() { copy.set(count, at: 4 + 2 * index) }
        if truncated { copy.bytes[2] |= UInt8(Message.Flags.truncated.rawValue >> 8) }
        return copy.bytes
    }

    /// Writes an item, and removes it again when it makes the message too long.
    private mutating func write(to section: Section, _ body: (inout MessageEncoder) -> Void) -> Bool {
        guard section >= self.section, counts[section.rawValue] < .max else { return false }
        let (start, known) = (bytes.count, names.count)
        body(&self)
        guard bytes.count <= limit else {
            bytes.removeSubrange(start...)
            names.forget(downTo: known)
            return false
        }
        self.section = section
        counts[section.rawValue] += 1
        return true
    }

    private mutating func put(_ word: UInt16) {
        bytes.append(UInt8(word >> 8))
        bytes.append(UInt8(truncatingIfNeeded: word))
    }

    private mutating func set(_ word: UInt16, at offset: Int) {
        bytes[offset] = UInt8(word >> 8)
        bytes[offset + 1] = UInt8(truncatingIfNeeded: word)
    }

    private mutating func put(_ name: DomainName, compressed: Bool) {
        var start = 0
        while start < name.wire.count {
            let (offset, fingerprint) = names.find(name.wire, from: start, in: bytes)
            if compressed, let offset {
                put(0xC000 | offset)
                return
            }
            // A pointer has 14 bits. The name is whole only when its end is written, but nothing is looked up before.
            if bytes.count < 0x4000, offset == nil { names.insert(fingerprint, at: UInt16(bytes.count)) }
            let end = start + 1 + Int(name.wire[start])
            bytes += name.wire[start..<end]
            start = end
        }
        bytes.append(0)
    }

    private mutating func put(_ data: RecordData) {
        switch data {
        case .address(let address): bytes += address.bytes
        case .pointer(let name), .alias(let name): put(name, compressed: true)
        case .service(let location):
            put(location.priority)
            put(location.weight)
            put(location.port)
            put(location.target, compressed: compressesServiceTargets)
        case .text(let text): bytes += text
        case .nextSecure(let next, let types):
            put(next, compressed: true)
            putBitmap(types)
        case .hostInformation(let cpu, let system):
            for string in [cpu, system] {
                bytes.append(UInt8(min(string.count, 255)))
                bytes += string.prefix(255)
            }
        case .opaque(let data): bytes += data
        }
    }

    private mutating func putBitmap(_ types: [RecordType]) { bytes += Self.bitmap(types) }

    /// The type bitmaps of RFC 4034 section 4.1.2.
    static func bitmap(_ types: [RecordType]) -> [UInt8] {
        var bytes: [UInt8] = []
        let windows = Dictionary(grouping: types.map(\.rawValue)) { $0 >> 8 }
        for (window, types) in windows.sorted(by: { $0.key < $1.key }) {
            var bitmap = [UInt8](repeating: 0, count: Int((types.max() ?? 0) & 0xFF) / 8 + 1)
            for type in types { bitmap[Int(type & 0xFF) / 8] |= 0x80 >> UInt8(type & 7) }
            bytes += [UInt8(window), UInt8(bitmap.count)] + bitmap
        }
        return bytes
    }
}

extension Message {
    /// The message in bytes.
    /// - Returns: `nil` when it is longer than `limit`.
    public func encoded(limit: Int = maximumLength, compressesServiceTargets: Bool = true) -> [UInt8]? {
        var encoder = MessageEncoder(
            id: id,
            flags: flags,
            limit: limit,
            compressesServiceTargets: compressesServiceTargets
        )
        for question in questions where !encoder.append(question) { return nil }
        for record in answers where !encoder.append(record, to: .answer) { return nil }
        for record in authorities where !encoder.append(record, to: .authority) { return nil }
        for record in additionals where !encoder.append(record, to: .additional) { return nil }
        return encoder.finish()
    }
}
