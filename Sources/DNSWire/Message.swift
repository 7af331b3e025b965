// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

public struct Message: Hashable, Sendable {
    /// The flags and codes of the header (RFC 1035 section 4.1.1).
    public struct Flags: OptionSet, Hashable, Sendable {
        /// The second word of the header.
        public let rawValue: UInt16
        /// Wraps the second word of the header.
        public init(rawValue: UInt16) { self.rawValue = rawValue }
        public static let response = Flags(rawValue: 0x8000)
        /// The answer is authoritative (AA); set in every multicast response.
        public static let authoritative = Flags(rawValue: 0x0400)
        /// More known answers follow in further messages (TC).
        public static let truncated = Flags(rawValue: 0x0200)
        /// The operation; anything but 0 is ignored (RFC 6762 section 18.3).
        public var operation: UInt16 { rawValue >> 11 & 0xF }
        /// The response code; anything but 0 is ignored (RFC 6762 section 18.11).
        public var responseCode: UInt16 { rawValue & 0xF }
    }

    /// The largest message in bytes (RFC 6762 section 17).
    public static let maximumLength = 9000

    /// The id; 0 in multicast messages, and ignored in received ones.
    public var id: UInt16
    public var flags: Flags
    public var questions: [Question]
    /// The answers; in a query, what the asker knows already.
    public var answers: [ResourceRecord]
    /// The authority section; in a probe, what the prober wants to own.
    public var authorities: [ResourceRecord]
    public var additionals: [ResourceRecord]

    public init(
        id: UInt16 = 0,
        flags: Flags = [],
        questions: [Question] = [],
        answers: [ResourceRecord] = [],
        authorities: [ResourceRecord] = [],
        additionals: [ResourceRecord] = []
    ) {
        self.id = id
        self.flags = flags
        self.questions = questions
        self.answers = answers
        self.authorities = authorities
        self.additionals = additionals
    }

    /// Reads a message; bytes after the last record are ignored.
    ///
    /// Counts in the header are hints: reading stops with an error where the bytes end. Time and memory are bounded
    /// by the length of the message.
    /// - Throws: WireError; an NSEC record that cannot be read becomes opaque instead (RFC 6762 section 6.1).
    public init(parsing bytes: Span<UInt8>) throws(WireError) {
        guard bytes.count <= Self.maximumLength else { throw .messageTooLong(count: bytes.count) }
        var reader = WireReader(bytes)
        id = try reader.readUInt16()
        flags = Flags(rawValue: try reader.readUInt16())
        let counts = (
            try reader.readUInt16(), try reader.readUInt16(), try reader.readUInt16(), try reader.readUInt16()
        )
        questions = []
        for _ in 0..<counts.0 { questions.append(try reader.readQuestion()) }
        answers = try reader.readRecords(counts.1)
        authorities = try reader.readRecords(counts.2)
        additionals = try reader.readRecords(counts.3)
    }
}

extension WireReader {
    mutating func readQuestion() throws(WireError) -> Question {
        let name = try readName()
        let type = RecordType(rawValue: try readUInt16())
        let code = try readUInt16()
        return Question(name, type, classCode: code & 0x7FFF, wantsUnicast: code & 0x8000 != 0)
    }

    mutating func readRecords(_ count: UInt16) throws(WireError) -> [ResourceRecord] {
        var records: [ResourceRecord] = []
        for _ in 0..<count { records.append(try readRecord()) }
        return records
    }

    private mutating func readRecord() throws(WireError) -> ResourceRecord {
        let name = try readName()
        let type = RecordType(rawValue: try readUInt16())
        let code = try readUInt16()
        let timeToLive = try readUInt32()
        let length = Int(try readUInt16())
        let start = offset
        let bytes = try readBytes(length)
        let end = offset
        var data: RecordData
        do {
            move(to: start)
            data = try readData(type, length: length)
            guard offset == end else { throw WireError.badRecord(type: type.rawValue, at: start) }
        } catch {
            guard type == .nsec else { throw .badRecord(type: type.rawValue, at: start) }
            data = .opaque(bytes)
        }
        move(to: end)
        let isOptions = type == .opt
        return ResourceRecord(
            name,
            type,
            data,
            timeToLive: timeToLive,
            classCode: isOptions ? code : code & 0x7FFF,
            flushesCache: !isOptions && code & 0x8000 != 0
        )
    }

    private mutating func readData(_ type: RecordType, length: Int) throws(WireError) -> RecordData {
        let start = offset
        switch type {
        case .a, .aaaa:
            let bytes = try readBytes(length)
            guard let address = IPAddress(bytes: bytes.span), (address.family == .ipv4) == (type == .a) else {
                throw .badRecord(type: type.rawValue, at: start)
            }
            return .address(address)
        case .ptr: return .pointer(try readName())
        case .cname: return .alias(try readName())
        case .srv:
            let (priority, weight, port) = (try readUInt16(), try readUInt16(), try readUInt16())
            return .service(ServiceLocation(priority: priority, weight: weight, port: port, target: try readName()))
        case .txt: return .text(try readBytes(length))
        case .hinfo: return .hostInformation(cpu: try readString(), system: try readString())
        case .nsec: return .nextSecure(next: try readName(), types: try readBitmap(until: start + length))
        default: return .opaque(try readBytes(length))
        }
    }

    /// Reads the type bitmaps of RFC 4034 section 4.1.2.
    private mutating func readBitmap(until end: Int) throws(WireError) -> [RecordType] {
        var types: [RecordType] = []
        var lastWindow = -1
        while offset < end {
            let window = Int(try readByte())
            let bytes = try readString()
            guard window > lastWindow, (1...32).contains(bytes.count) else {
                throw .badRecord(type: RecordType.nsec.rawValue, at: offset)
            }
            lastWindow = window
            for (index, byte) in bytes.enumerated() {
                for bit in 0..<8 where byte & (0x80 >> bit) != 0 {
                    types.append(RecordType(rawValue: UInt16(window << 8 | index << 3 | bit)))
                }
            }
        }
        return types
    }
}
