// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import Addressing
internal import DNSWire
internal import LinuxIO
internal import MulticastDNS

public struct MulticastDNSResult: Hashable, Sendable {
    /// Whether it answered the query to it alone; `nil` when that could not be sent.
    public var answersUnicast: Bool?
    /// Whether its answer to the query to the group came back to the group; `nil` when that could not be sent, or could
    /// not be distinguished from the answers of others.
    public var answersMulticast: Bool?
}

/// Sends a host on the link the same multicast DNS query (RFC 6762) by the group and by unicast.
///
/// It sends two messages of about 80 bytes to the group, a second apart, and up to three to the host. It joins the group
/// meanwhile and shares its port with other programs, whose packets it does not receive: it is bound to the group, not an
/// own address.
package struct MulticastDNSProbe: Probe {
    /// When the group is queried again: an answer is repeated after a second at the earliest (section 6).
    private static let retry = Duration.milliseconds(1100)
    private static let (group, host) = (0, 1)
    private static let groupTimer = DNSServerProbe.copies.count

    private let question: MulticastQuestion
    private let interface: Int
    private let limit: Duration
    private let id = UInt16.random(in: 1 ... .max)
    private var isHostOpen = false
    /// How many queries left for the host.
    private var hostQueries = 0
    private var unicast = MulticastQuestion.Reply.foreign
    private var isGroupAnswered = false
    private var hasGroupFailed = false
    package private(set) var bytesReceived = 0
    package private(set) var result = MulticastDNSResult()

    /// - Parameters:
    ///   - peer: The host.
    ///   - interface: The index of the link's interface.
    ///   - limit: How long answers are collected.
    package init(_ peer: IPAddress, on interface: Int, limit: Duration = .milliseconds(1500)) {
        question = MulticastQuestion(peer: peer)
        self.interface = interface
        self.limit = limit
    }

    package mutating func handle(_ event: ProbeEvent, at now: ProbeTime) -> [ProbeAction] {
        switch event {
        case .started:
            let copies = DNSServerProbe.copies.enumerated().dropFirst().map { number, delay in
                ProbeAction.schedule(at: now.boot + delay, timer: number)
            }
            let link = ProbeSocketKind.link(.multicastDNS(question.peer.family), interface: UInt32(clamping: interface))
            let retry = ProbeAction.schedule(at: now.boot + Self.retry, timer: Self.groupTimer)
            return [openHost, .open(link, socket: Self.group)] + copies + [retry, .timeout(after: limit)]
        case .fired(timer: Self.groupTimer), .opened(socket: Self.group, _): return hasGroupFailed ? [] : [queryGroup]
        case .fired:
            guard unicast == .foreign else { return [] }
            return isHostOpen ? queryHost() : [openHost]
        case .opened:
            isHostOpen = true
            return queryHost()
        case .failed(let failure, Self.group, let use):
            switch use {
            case .open: break
            case .send where failure.error != .again: break
            case .send, .receive: return []
            }
            hasGroupFailed = true
            return finishIfAnswered()
        case .received(let packet, socket: Self.group): return receiveFromGroup(packet)
        case .received(let packet, _): return receiveFromHost(packet)
        case .timedOut(let isDelayed):
            if !hasGroupFailed && (isGroupAnswered || !isDelayed) { result.answersMulticast = isGroupAnswered }
            return finish(isDelayed: isDelayed)
        // No program listens there, or a filter of this machine drops it; a later copy may find one.
        case .failed(_, _, .send):
            hostQueries -= 1
            return []
        case .failed, .fault: return []
        }
    }

    private var openHost: ProbeAction {
        let peer = question.peer
        let scope = peer.isLinkLocal && peer.family == .ipv6 ? "\(interface)" : nil
        return .open(.datagram(to: SocketAddress(ScopedAddress(peer, scope: scope), port: 5353)), socket: Self.host)
    }

    private var queryGroup: ProbeAction { .send(question.bytes(id: 0), socket: Self.group) }

    private mutating func queryHost() -> [ProbeAction] {
        hostQueries += 1
        return [.send(question.bytes(id: id), socket: Self.host)]
    }

    private mutating func receiveFromHost(_ packet: ReceivedPacket) -> [ProbeAction] {
        let reply = question.read(packet.bytes.span, id: id)
        guard reply > .foreign else { return [] }
        bytesReceived += packet.bytes.count
        unicast = max(unicast, reply)
        return finishIfAnswered()
    }

    private mutating func receiveFromGroup(_ packet: ReceivedPacket) -> [ProbeAction] {
        let reply = question.read(packet.bytes.span)
        let isFromPeer = packet.source == question.peer.bytes
        guard reply == .named || isFromPeer && reply == .answer, !isGroupAnswered else { return [] }
        isGroupAnswered = true
        bytesReceived += packet.bytes.count
        return finishIfAnswered()
    }

    private mutating func finishIfAnswered() -> [ProbeAction] {
        guard isGroupAnswered || hasGroupFailed, unicast > .foreign else { return [] }
        if isGroupAnswered { result.answersMulticast = true }
        return finish()
    }

    private mutating func finish(isDelayed: Bool = false) -> [ProbeAction] {
        let isKnown = unicast > .foreign || hostQueries > 0 && !isDelayed
        result.answersUnicast = isKnown ? unicast > .foreign : nil
        // A host with several IPv6 addresses answers the group from another one: without its name it is not recognized.
        let isAmbiguous = question.peer.family == .ipv6 && !question.peer.isLinkLocal && unicast != .named
        if !isGroupAnswered && isAmbiguous { result.answersMulticast = nil }
        return [.finish]
    }
}

/// The query for a host that speaks multicast DNS: its types of services, and the name of its address.
///
/// Both questions are in one message; a host that has neither does not answer.
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
        /// An answer to the first question, or to another query.
        case answer
        /// An answer that names the host's address, which no other host gives.
        case named
    }

    /// Reads a message; any bytes are allowed.
    ///
    /// An answer has the `id` of the query, if one is given.
    func read(_ bytes: Span<UInt8>, id: UInt16? = nil) -> Reply {
        guard let message = try? Message(parsing: bytes), message.flags.contains(.response),
            message.flags.operation == 0, message.flags.responseCode == 0, id == nil || message.id == id,
            !message.answers.isEmpty
        else { return .foreign }
        return message.answers.contains { $0.type == .ptr && $0.name == name } ? .named : .answer
    }
}
