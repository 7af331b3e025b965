// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire
internal import MulticastDNS

/// What a host is asked that speaks multicast DNS: which kinds of services it has, and the name behind its address.
///
/// Both questions go in one message; a host that has neither stays silent, however it is asked.
struct MulticastQuestion: Equatable {
    let peer: IPAddress

    private static let types = DomainName("_services._dns-sd._udp.local") ?? DomainName()
    private var name: DomainName { ReverseName.name(of: peer) }

    /// The message; the id is 0 for the group (RFC 6762 section 18.1).
    func bytes(id: UInt16) -> [UInt8] {
        var encoder = MessageEncoder(id: id, flags: [], limit: 512)
        for name in [Self.types, name] { _ = encoder.append(Question(name, .ptr)) }
        return encoder.finish()
    }

    enum Reply: Equatable, Comparable {
        case foreign
        /// Somebody's answer to the first part, or to another question.
        case answer
        /// An answer that names the host's address, which nobody else gives.
        case named
    }

    /// Reads a message; any bytes are allowed.
    ///
    /// An answer has the `id` of the question, if one is given.
    func read(_ bytes: Span<UInt8>, id: UInt16? = nil) -> Reply {
        guard let message = try? Message(parsing: bytes), message.flags.contains(.response),
            message.flags.operation == 0, message.flags.responseCode == 0, id == nil || message.id == id,
            !message.answers.isEmpty
        else { return .foreign }
        return message.answers.contains { $0.type == .ptr && $0.name == name } ? .named : .answer
    }
}
