// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import LinuxIO

/// A probe that queries a whole link twice, since the first query may be lost, and collects every answer.
package protocol LinkProbe: Probe {
    var query: LinkQuery { get set }

    /// - Returns: The bytes that count as received; 0 for what is no reply, or one that was received before.
    mutating func receive(_ packet: ReceivedPacket, after elapsed: Duration) -> Int
    /// Records how the collection ended; what was received stays.
    mutating func end(_ end: LinkProbeEnd)
}

package struct LinkQuery {
    let socket: ProbeSocketKind
    let bytes: [UInt8]
    /// When it is sent again.
    var retry = Duration.milliseconds(600)
    /// How long answers are collected.
    let limit: Duration
    fileprivate var started = Duration.zero
    fileprivate var bytesReceived = 0
    fileprivate var receiveError: Errno?

    init(_ link: LinkProtocol, on interface: Int, _ bytes: [UInt8], limit: Duration) {
        socket = .link(link, interface: UInt32(clamping: interface))
        self.bytes = bytes
        self.limit = limit
    }
}

package enum LinkProbeEnd {
    case complete
    /// This machine was too busy to receive answers.
    case delayed
    /// This process may not open the socket.
    case notPermitted
    case failed(Errno)
}

extension LinkProbe {
    /// How many different answers are kept.
    package static var most: Int { 16 }

    package var bytesReceived: Int { query.bytesReceived }

    package mutating func handle(_ event: ProbeEvent, at now: ProbeTime) -> [ProbeAction] {
        switch event {
        case .started:
            query.started = now.boot
            return [.open(query.socket), .schedule(at: now.boot + query.retry), .timeout(after: query.limit)]
        case .opened, .fired: return [.send(query.bytes)]
        case .received(let packet, _):
            query.bytesReceived += receive(packet, after: now.boot - query.started)
            return []
        case .failed(let failure, _, let use):
            switch use {
            case .open where failure.isForbidden: end(.notPermitted)
            case .open: end(.failed(failure.error))
            case .send where failure.error != .again: end(.failed(failure.error))
            case .send: return []
            // A link that fails may still answer before the limit.
            case .receive:
                query.receiveError = failure.error
                return []
            }
        case .timedOut(let isDelayed):
            if let error = query.receiveError, bytesReceived == 0 {
                end(.failed(error))
            } else {
                end(isDelayed ? .delayed : .complete)
            }
        case .fault: return []
        }
        return [.finish]
    }
}

extension SocketFailure {
    var isForbidden: Bool { error == .notPermitted || error == .accessDenied }
}
