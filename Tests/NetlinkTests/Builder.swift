// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
@testable import Netlink
import TestSupport

/// Builds wire bytes by hand, so that decoders are tested without a kernel.
struct Builder {
    private(set) var bytes: [UInt8]

    init(_ header: [UInt8] = []) { bytes = header }

    func attribute(_ kind: Int, _ payload: [UInt8]) -> Builder {
        var copy = self
        copy.bytes += Question.bytes(of: UInt16(4 + payload.count)) + Question.bytes(of: UInt16(kind)) + payload
        copy.bytes += [UInt8](repeating: 0, count: -payload.count & 3)
        return copy
    }

    func attribute(_ kind: Int, _ value: UInt32) -> Builder { attribute(kind, Question.bytes(of: value)) }
    func attribute(_ kind: Int, _ text: String) -> Builder { attribute(kind, Array(text.utf8) + [0]) }
    func attribute(_ kind: Int, _ nested: Builder) -> Builder { attribute(kind | 0x8000, nested.bytes) }

    /// The bytes as a message with a header.
    func message(type: UInt16, flags: UInt16 = 0, sequence: UInt32 = 0) -> [UInt8] {
        Question.bytes(of: UInt32(16 + bytes.count)) + Question.bytes(of: type) + Question.bytes(of: flags)
            + Question.bytes(of: sequence) + [0, 0, 0, 0] + bytes
    }

    /// `struct ifinfomsg`.
    static func link(index: Int32, family: UInt8 = 0, type: UInt16 = 1, flags: UInt32 = 0) -> Builder {
        Builder(
            [family, 0] + Question.bytes(of: type) + Question.bytes(of: index) + Question.bytes(of: flags)
                + [0, 0, 0, 0]
        )
    }

    /// `struct rtmsg`.
    static func route(
        family: UInt8 = 2,
        length: UInt8 = 0,
        table: UInt8 = 254,
        type: UInt8 = 1,
        flags: UInt32 = 0
    ) -> Builder {
        Builder([family, length, 0, 0, table, 4, 0, type] + Question.bytes(of: flags))
    }

    /// `struct ifaddrmsg`.
    static func address(family: UInt8, length: UInt8, flags: UInt8 = 0, scope: UInt8 = 0, index: Int32 = 2) -> Builder {
        Builder([family, length, flags, scope] + Question.bytes(of: index))
    }
}

extension IPAddress {
    /// Reads an address a test wrote.
    static func of(_ text: String) -> IPAddress {
        guard let address = IPAddress(text) else { preconditionFailure("\(text) is no address") }
        return address
    }
}

extension Namespace {
    /// Makes `v0` here, up, with addresses, joined to `v1` of a new namespace that owns .1 and ::1.
    func uplink(_ name: String = "v0", network: String = "192.0.2", sixth: String = "2001:db8:1") throws -> Namespace {
        let peer = try Namespace()
        try connect(name, to: peer, as: "v1")
        try ip("addr add \(network).2/24 dev \(name)")
        try ip("addr add \(sixth)::2/64 dev \(name) nodad")
        try peer.ip("addr add \(network).1/24 dev v1")
        try peer.ip("addr add \(sixth)::1/64 dev v1 nodad")
        try waitForAddresses(on: name)
        try peer.waitForAddresses(on: "v1")
        return peer
    }
}
