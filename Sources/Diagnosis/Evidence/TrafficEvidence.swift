// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// What the machine's own connections show of a path, or of a destination beyond it.
public struct TrafficEvidence: Hashable, Sendable {
    public enum State: Hashable, Sendable {
        case proved, stalled, lossy
    }

    public var state: State
    public var family: AddressFamily
    public var interface: String
    /// `nil` on the interface's own network.
    public var gateway: IPAddress?
    /// The prefix; `nil` of everything beyond the path.
    public var destination: String?
    /// Whether it is about private addresses.
    public var isPrivate: Bool
    /// Whether it is about public addresses beyond the gateways of the path.
    public var isBeyond: Bool
    public var connections: Int
    public var unanswered: Int
    /// The share of data segments that were sent again.
    public var loss: Double?
    /// Of a destination: whether others on the path were answered after its last answer.
    public var othersAnswer: Bool
    /// Such as `148 of 150 connections through 192.0.2.1 on eth0 unanswered for 1.4 s`.
    public var sentence: String

    public init(
        _ state: State,
        family: AddressFamily,
        interface: String,
        gateway: IPAddress?,
        destination: String? = nil,
        isPrivate: Bool = false,
        isBeyond: Bool = true,
        connections: Int,
        unanswered: Int = 0,
        loss: Double? = nil,
        othersAnswer: Bool = false,
        sentence: String
    ) {
        self.state = state
        self.family = family
        self.interface = interface
        self.gateway = gateway
        self.destination = destination
        self.isPrivate = isPrivate
        self.isBeyond = isBeyond
        self.connections = connections
        self.unanswered = unanswered
        self.loss = loss
        self.othersAnswer = othersAnswer
        self.sentence = sentence
    }
}

extension Evidence {
    /// Whether connections of a family to public addresses are unanswered on their whole path.
    public func isStalled(_ family: AddressFamily) -> Bool {
        traffic.contains { $0.state == .stalled && $0.family == family && $0.destination == nil && $0.isBeyond }
    }
}
