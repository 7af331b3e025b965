// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A query to the network as a value: what happened comes in, what to do goes out.
///
/// It has no socket, no timer and no clock; ``ProbeRunner`` has them. CONTRIBUTING.md lists what else a new kind of probe needs.
package protocol Probe<Result> {
    associatedtype Result

    /// What is known so far; read when the probe finishes.
    var result: Result { get }
    /// The bytes of the replies that counted, without the headers of IP and UDP.
    var bytesReceived: Int { get }
    /// What is missing of a reply that has begun to arrive, for people: ``ProbeAttempt`` writes it behind `no answer in time`.
    var gap: String? { get }

    /// - Returns: What to do, in this order.
    mutating func handle(_ event: ProbeEvent, at now: ProbeTime) -> [ProbeAction]
}

extension Probe {
    package var bytesReceived: Int { 0 }
    package var gap: String? { nil }
}

/// What a probe wants done.
///
/// Sockets and timers have numbers of the probe's choice.
package enum ProbeAction {
    /// Opens and connects a socket; ``ProbeEvent/opened(socket:_:)`` or a failure follows.
    case open(ProbeSocketKind, socket: Int = 0)
    case send([UInt8], socket: Int = 0)
    /// Sends again what a pending error kept from being sent; it counts as the same packet.
    case resend([UInt8], socket: Int = 0)
    /// Lets what a socket sends from now on pass so many routers less one.
    case limitHops(Int, socket: Int = 0)
    case close(socket: Int)
    /// At a time since boot; replaces the timer of that number.
    case schedule(at: Duration, timer: Int = 0)
    /// When silence counts: later by what this machine was late itself. Replaces the one before; `nil` cancels it.
    case timeout(after: Duration?)
    case finish
}

/// What happened to a probe.
package enum ProbeEvent {
    case started
    case opened(socket: Int, SocketState)
    case failed(SocketFailure, socket: Int, SocketUse)
    case received(ReceivedPacket, socket: Int)
    /// An ICMP error about a packet of a socket that reports them.
    case fault(PacketFault, FaultDetails, socket: Int)
    case fired(timer: Int)
    /// The timeout is over; `isDelayed` when this machine was too busy to receive, so that silence says nothing.
    case timedOut(isDelayed: Bool)
}

package struct ProbeTime {
    /// Since boot.
    package var boot: Duration
    /// By the calendar, in nanoseconds since 1970.
    package var wall: Int64
}

package enum SocketUse {
    case open
    /// With what was to be sent.
    case send([UInt8])
    case receive
}

package struct SocketState {
    /// Whether it is a raw ICMP socket, which shows what is meant for others too.
    package var isRaw = false
    /// How often the SYN was sent again.
    package var retransmissions = 0
}

package struct ReceivedPacket {
    /// Empty at the end of a stream.
    package var bytes: [UInt8]
    package var hopLimit: Int?
    /// How long the kernel had it before this process read it, which is not the network's time.
    package var age = Duration.zero
    /// Whether this machine sent it, where the socket shows both.
    package var isOutgoing = false
    /// The interface that it passed, where the socket receives from all of them.
    package var interface = 0
    /// Whether packets before it are missing, because too many waited.
    package var hasGap = false
    /// The sender's address, where the socket is not connected.
    package var source: [UInt8] = []
}

/// What an ICMP error says beside its kind.
package struct FaultDetails {
    /// What it quotes of the packet that it is about, behind the headers of IP and UDP.
    ///
    /// Empty where a router quotes no more than it must (RFC 792), which of a datagram is its header alone.
    package var quote: [UInt8] = []
    /// What is unreachable, of an error of the type "destination unreachable".
    package var obstacle: PacketObstacle?
    /// How long the kernel had the error before this process read it.
    package var age = Duration.zero
}

/// What a probe sent and received, counted by its runner.
public struct ProbeTraffic: Hashable, Sendable {
    /// How many packets were handed to the kernel.
    public var packets = 0
    /// How many of these a packet filter of this machine refused (`EPERM`).
    public var refused = 0
    /// The bytes that were sent, without the headers of IP, TCP and UDP.
    public var bytesSent = 0
    /// The bytes that came back, counted likewise.
    public var bytesReceived = 0
    /// What this machine lacks for sending, so that nothing follows from missing replies, such as `no local port is left (EAGAIN)`.
    public var shortage: String?
    /// The local ports of connected sockets that were open to the end and received nothing.
    package var silentPorts: Set<UInt16> = []
}
