// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CNetlink

/// One request to the kernel, without sequence number and sender, so that equal requests are equal.
public struct Question: Hashable, Sendable {
    /// The message type: an RTM_* constant.
    public let type: UInt16
    /// The NLM_F_* bits besides `NLM_F_REQUEST`.
    public let flags: UInt16
    /// The fixed header of the type and its attributes.
    public private(set) var body: [UInt8]

    public init(type: UInt16, flags: UInt16, body: [UInt8]) {
        self.type = type
        self.flags = flags
        self.body = body
    }

    /// Whether all entries are requested (`NLM_F_DUMP`).
    public var isDump: Bool { flags & Question.dump == Question.dump }

    /// `NLM_F_DUMP`.
    package static let dump = UInt16(NLM_F_ROOT | NLM_F_MATCH)
    /// `NLM_F_ACK`.
    static let acknowledge = UInt16(NLM_F_ACK)

    package mutating func add(_ kind: Int, _ payload: [UInt8]) {
        begin(kind, size: payload.count)
        body += payload
        for _ in 0..<(-payload.count & 3) { body.append(0) }
    }

    /// Adds a 32-bit attribute in host byte order.
    package mutating func add(_ kind: Int, _ value: UInt32) {
        begin(kind, size: 4)
        Self.append(value.littleEndian, to: &body)
    }

    mutating func add(_ kind: Int, _ address: IPAddress) {
        begin(kind, size: address.family.bitWidth / 8)
        switch address {
        case .v4(let value): Self.append(value.byteSwapped, to: &body)
        case .v6(let value): Self.append(value.byteSwapped, to: &body)
        }
    }

    private mutating func begin(_ kind: Int, size: Int) {
        // Room for the attributes of a usual request.
        if body.capacity < Self.usualSize { body.reserveCapacity(Self.usualSize) }
        Self.append(UInt16(truncatingIfNeeded: 4 + size).littleEndian, to: &body)
        Self.append(UInt16(truncatingIfNeeded: kind).littleEndian, to: &body)
    }

    private static let usualSize = 96

    package func message(sequence: UInt32) -> [UInt8] {
        let length = MessageReader.headerLength + body.count
        var message: [UInt8] = []
        message.reserveCapacity(length)
        Self.append(UInt32(truncatingIfNeeded: length).littleEndian, to: &message)
        Self.append(type.littleEndian, to: &message)
        Self.append((flags | UInt16(NLM_F_REQUEST)).littleEndian, to: &message)
        Self.append(sequence.littleEndian, to: &message)
        Self.append(UInt32(0), to: &message)
        message += body
        return message
    }

    /// Appends a number, its lowest byte first.
    private static func append(_ value: some FixedWidthInteger, to bytes: inout [UInt8]) {
        var rest = value
        for _ in 0..<value.bitWidth / 8 {
            bytes.append(UInt8(truncatingIfNeeded: rest))
            rest >>= 8
        }
    }

    /// A number in host byte order.
    static func bytes(of value: some FixedWidthInteger) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(value.bitWidth / 8)
        append(value.littleEndian, to: &bytes)
        return bytes
    }
}

/// The kinds of rtnetlink messages (RTM_*), linux/rtnetlink.h.
public struct MessageType: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The kernel's name, such as `RTM_NEWLINK`; `RTM_` and the number for one we do not read.
    public var description: String {
        guard let object = Self.objects[rawValue & ~3] else { return "RTM_\(rawValue)" }
        return "RTM_\(Self.verbs[Int(rawValue & 3)])\(object)"
    }

    private static let verbs = ["NEW", "DEL", "GET", "SET"]
    private static let objects: [UInt16: String] = [
        16: "LINK", 20: "ADDR", 24: "ROUTE", 28: "NEIGH", 32: "RULE", 52: "PREFIX", 68: "NDUSEROPT", 80: "NETCONF",
        88: "NSID", 104: "NEXTHOP",
    ]
}
