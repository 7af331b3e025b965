// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CNetlink

/// One request to the kernel, without sequence number and sender, so that equal requests are equal.
public struct Question: Hashable, Sendable {
    /// What is asked: an RTM_* constant.
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

    /// Whether all entries are asked for (`NLM_F_DUMP`).
    public var isDump: Bool { flags & Question.dump == Question.dump }

    /// `NLM_F_DUMP`.
    package static let dump = UInt16(NLM_F_ROOT | NLM_F_MATCH)
    /// `NLM_F_ACK`.
    static let acknowledge = UInt16(NLM_F_ACK)

    package mutating func add(_ kind: Int, _ payload: [UInt8]) {
        body += Self.bytes(of: UInt16(4 + payload.count)) + Self.bytes(of: UInt16(kind)) + payload
        body += [UInt8](repeating: 0, count: -payload.count & 3)
    }

    /// Adds a 32-bit attribute in host byte order.
    package mutating func add(_ kind: Int, _ value: UInt32) { add(kind, Self.bytes(of: value)) }

    mutating func add(_ kind: Int, _ address: IPAddress) { add(kind, address.bytes) }

    package func message(sequence: UInt32) -> [UInt8] {
        let length = UInt32(MessageReader.headerLength + body.count)
        return Self.bytes(of: length) + Self.bytes(of: type) + Self.bytes(of: flags | UInt16(NLM_F_REQUEST))
            + Self.bytes(of: sequence) + [0, 0, 0, 0] + body
    }

    /// A number in host byte order.
    static func bytes(of value: some FixedWidthInteger) -> [UInt8] {
        let little = value.littleEndian
        return (0..<little.bitWidth / 8).map { UInt8(truncatingIfNeeded: little >> (8 * $0)) }
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
