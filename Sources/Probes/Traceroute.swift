// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// A router at which a packet's hop limit ended.
public struct Hop: Hashable, Sendable {
    /// How many routers away it is, the gateway being 1.
    public var distance: Int
    public var address: IPAddress
}

public struct TracerouteResult: Hashable, Sendable {
    public let destination: IPAddress
    /// The routers that answered, the nearest first.
    public var hops: [Hop] = []
    /// Who reports that there is no route further.
    public var unreachableFrom: IPAddress?
    /// Whether the destination answered.
    public var isArrived = false
    /// Whether this machine was too busy to receive answers, or lacked what sending needs.
    public var isDelayed = false

    /// Records an ICMP error about the packet with this hop limit.
    mutating func record(_ fault: PacketFault, distance: Int) {
        guard let speaker = fault.speaker else { return }
        switch fault.kind {
        case .hopLimit:
            guard !hops.contains(where: { $0.distance == distance }) else { return }
            hops.append(Hop(distance: distance, address: speaker))
            hops.sort { $0.distance < $1.distance }
        case .portClosed where speaker == destination: isArrived = true
        case .unreachable where speaker != destination: unreachableFrom = unreachableFrom ?? speaker
        case .portClosed, .unreachable, .tooBig, .other: break
        }
    }
}

/// Sends datagrams with a growing hop limit, as traceroute(8) does, and records which routers report that it ended.
///
/// Twelve datagrams of 32 bytes, each from a socket of its own, so that what a router reports belongs to one of them; no
/// privilege is needed.
package struct Traceroute: Probe {
    package static let reach = 12
    private static let pace = Duration.milliseconds(30)
    /// The port of traceroute(8), on which no program listens.
    private static let port: UInt16 = 33434

    private let address: ScopedAddress
    private let limit: Duration
    package private(set) var result: TracerouteResult

    /// Collects answers until the limit, or until the destination answers.
    package init(to address: ScopedAddress, limit: Duration = .milliseconds(1200)) {
        self.address = address
        self.limit = limit
        result = TracerouteResult(destination: address.address)
    }

    package mutating func handle(_ event: ProbeEvent, at now: ProbeTime) -> [ProbeAction] {
        switch event {
        case .started:
            let sends = (1...Self.reach).map { distance in
                ProbeAction.schedule(at: now.boot + Self.pace * (distance - 1), timer: distance)
            }
            return sends + [.timeout(after: limit)]
        case .fired(let distance):
            let options = ProbeSocketOptions(reportsFaults: true, hopLimit: distance)
            let peer = SocketAddress(address, port: Self.port + UInt16(distance))
            return [.open(.datagram(to: peer, ProbeRoute(), options), socket: distance)]
        case .opened(let distance, _): return [.send([UInt8](repeating: 0x40, count: 32), socket: distance)]
        case .fault(let fault, let distance):
            result.record(fault, distance: distance)
            return result.isArrived ? [.finish] : []
        case .failed(let failure, _, _):
            if FailureClassifier.shortage(failure) != nil { result.isDelayed = true }
            return []
        case .timedOut(let isDelayed):
            if isDelayed { result.isDelayed = true }
            return [.finish]
        case .received: return []
        }
    }
}
