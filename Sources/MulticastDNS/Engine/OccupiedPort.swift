// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import LinuxIO

/// Another program has port 5353 of a family for itself, so that nothing is received or sent by it.
public struct OccupiedPort: Hashable, Sendable {
    /// The port, 5353.
    public static let number: UInt16 = Zone.port

    public let family: AddressFamily
    /// Who has it; `nil` where that cannot be seen.
    public let holder: PortOwner?

    /// The message, without a full stop.
    public var explanation: String {
        let holder = holder.map { "\($0)" } ?? "another program"
        let loss = "no multicast DNS over \(familyName)"
        return "UDP port \(Self.number) is used exclusively by \(holder): \(loss)"
    }

    /// The message when the port is free again, without a full stop.
    public var recovery: String { "UDP port \(Self.number) is available again: multicast DNS over \(familyName) works" }

    private var familyName: String { family == .ipv4 ? "IPv4" : "IPv6" }
}

/// Which families cannot have their port: reported once when that begins, and once when it ends.
struct OccupiedPorts: Sendable {
    private(set) var occupied: [AddressFamily: OccupiedPort] = [:]

    /// Records which families were refused their port just now.
    /// - Parameters:
    ///   - refused: Those that were refused.
    ///   - holder: Finds out who has a port; called once for each that is new.
    /// - Returns: The ports that are newly occupied, and those that are free again.
    mutating func update(
        _ refused: Set<AddressFamily>,
        holder: (AddressFamily) -> PortOwner?
    ) -> [(port: OccupiedPort, isOccupied: Bool)] {
        var changes: [(port: OccupiedPort, isOccupied: Bool)] = []
        for family in AddressFamily.allCases {
            switch (occupied[family], refused.contains(family)) {
            case (nil, true):
                let port = OccupiedPort(family: family, holder: holder(family))
                occupied[family] = port
                changes.append((port, true))
            case (let port?, false):
                occupied[family] = nil
                changes.append((port, false))
            default: break
            }
        }
        return changes
    }
}
