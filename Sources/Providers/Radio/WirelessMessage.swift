// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import PathModel

/// Reads generic netlink messages of nl80211 and of the controller (linux/nl80211.h, linux/genetlink.h).
///
/// Every length is checked; a message that lies about one is cut off there.
enum WirelessMessage {
    /// One netlink message: its type, its command and its attributes.
    struct Message: Equatable {
        var type: UInt16
        var sequence: UInt32
        var command: UInt8
        /// The error number of `NLMSG_ERROR`; 0 for an acknowledgement.
        var code: Int32?
        var attributes: [UInt16: [UInt8]]
    }

    static let errorType: UInt16 = 2
    static let doneType: UInt16 = 3

    /// Splits one datagram into its messages.
    static func parse(_ bytes: ArraySlice<UInt8>) -> [Message] {
        var messages: [Message] = []
        var rest = bytes
        while rest.count >= 16 {
            let length = Int(number(rest, 0, 4))
            guard length >= 16, length <= rest.count else { break }
            let body = rest.prefix(length).dropFirst(16)
            let type = UInt16(number(rest, 4, 2))
            var message = Message(
                type: type,
                sequence: UInt32(number(rest, 8, 4)),
                command: 0,
                code: nil,
                attributes: [:]
            )
            if type == errorType || type == doneType {
                message.code = body.count >= 4 ? Int32(truncatingIfNeeded: number(body, 0, 4)) : 0
            } else if let command = body.first {
                message.command = command
                message.attributes = attributes(body.dropFirst(4))
            }
            messages.append(message)
            rest = rest.dropFirst((length + 3) & ~3)
        }
        return messages
    }

    /// Splits attributes by type; the last one of a type wins.
    static func attributes(_ bytes: ArraySlice<UInt8>) -> [UInt16: [UInt8]] {
        var attributes: [UInt16: [UInt8]] = [:]
        var rest = bytes
        while rest.count >= 4 {
            let length = Int(number(rest, 0, 2))
            guard length >= 4, length <= rest.count else { break }
            // The two upper bits are flags.
            attributes[UInt16(number(rest, 2, 2)) & 0x3FFF] = Array(rest.prefix(length).dropFirst(4))
            rest = rest.dropFirst((length + 3) & ~3)
        }
        return attributes
    }

    /// A number in host order, little-endian as every machine nwpath is built for.
    static func number(_ bytes: ArraySlice<UInt8>, _ offset: Int, _ width: Int) -> UInt64 {
        let start = bytes.startIndex + offset
        return (0..<width).reduce(0) { $0 | UInt64(bytes[start + $1]) << (8 * UInt64($1)) }
    }

    /// The 32-bit number of an attribute.
    static func word(_ bytes: [UInt8]?) -> Int? {
        guard let bytes, bytes.count == 4 else { return nil }
        return Int(number(bytes[...], 0, 4))
    }

    /// An interface: `NL80211_ATTR_IFINDEX` (3), `IFTYPE` (5) and `SSID` (52).
    static func interface(_ message: Message) -> (index: Int, facts: WirelessFacts)? {
        guard let index = word(message.attributes[3]), let mode = word(message.attributes[5]) else { return nil }
        let name = message.attributes[52].flatMap { $0.isEmpty || $0.count > 32 ? nil : $0 }
        return (index, WirelessFacts(mode: UInt32(mode), ssid: name))
    }

    /// A station's signal in dBm: in `NL80211_ATTR_STA_INFO` (21) the average (13), or else the last one (7).
    static func signal(_ message: Message) -> (index: Int, signal: Int)? {
        guard let index = word(message.attributes[3]), let info = message.attributes[21] else { return nil }
        let values = attributes(info[...])
        guard let byte = (values[13] ?? values[7])?.first else { return nil }
        return (index, Int(Int8(bitPattern: byte)))
    }

    /// The family a controller message is about: `CTRL_ATTR_FAMILY_NAME` (2).
    static func familyName(_ message: Message) -> String? {
        message.attributes[2].map { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
