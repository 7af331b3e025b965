// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Netlink

/// One generic netlink message: its type, its command and its attributes (linux/genetlink.h).
///
/// Every length is checked; a message that lies about one is cut off there.
struct GenericMessage: Equatable {
    /// Attributes by type; the last one of a type wins.
    typealias Attributes = [UInt16: [UInt8]]

    var type: UInt16
    var sequence: UInt32
    var command: UInt8
    /// The error number of `NLMSG_ERROR`; 0 for an acknowledgement.
    var code: Int32?
    var attributes: Attributes

    static let errorType: UInt16 = 2
    static let doneType: UInt16 = 3

    static func parse(_ bytes: ArraySlice<UInt8>) -> [GenericMessage] {
        var messages: [GenericMessage] = []
        var reader = MessageReader(bytes.span)
        while reader.advance() {
            let body = reader.body
            var message = GenericMessage(type: reader.type, sequence: reader.sequence, command: 0, attributes: [:])
            if message.type == errorType || message.type == doneType {
                message.code = Int32(truncatingIfNeeded: body.index(at: 0))
            } else if !body.isEmpty {
                message.command = body[0]
                message.attributes = Attributes(attributesOf: body, from: 4)
            }
            messages.append(message)
        }
        return messages
    }

    /// The family a controller message is about: `CTRL_ATTR_FAMILY_NAME` (2).
    var familyName: String? { attributes[2].map { $0.span.text } }
}

extension GenericMessage.Attributes {
    init(attributesOf bytes: Span<UInt8>, from offset: Int = 0) {
        self.init()
        var reader = AttributeReader(bytes, from: offset)
        while reader.advance() { self[UInt16(reader.kind)] = reader.payload.array }
    }

    /// The attributes within an attribute; none when it is missing.
    func nested(_ kind: UInt16) -> Self { self[kind].map { Self(attributesOf: $0.span) } ?? [:] }

    /// The 32-bit number of an attribute; `nil` unless it has four bytes.
    func word(_ kind: UInt16) -> UInt32? {
        guard let bytes = self[kind], bytes.count == 4 else { return nil }
        return bytes.span.host32(at: 0)
    }
}
