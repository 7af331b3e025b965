// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A change of a monitor's path, as it is published (rule S44).
public struct PathChange: Hashable, Sendable {
    /// The path before; `nil` for the first one.
    public var previous: Path?
    public var current: Path
    /// Which fields differ, in the order of the document; empty for the first path.
    public var changed: [PathField]
    /// For how long the path before stood.
    public var previousDuration: Duration
    /// When the change was published, as time since boot.
    public var at: Duration

    public init(
        previous: Path?,
        current: Path,
        changed: [PathField],
        previousDuration: Duration,
        at: Duration
    ) {
        self.previous = previous
        self.current = current
        self.changed = changed
        self.previousDuration = previousDuration
        self.at = at
    }
}

public enum PathField: String, Hashable, Sendable, CaseIterable {
    case status
    case unsatisfiedReason = "unsatisfied_reason"
    case interfaces
    case isExpensive = "is_expensive"
    case isConstrained = "is_constrained"
    case isUltraConstrained = "is_ultra_constrained"
    case supportsIPv4 = "supports_ipv4"
    case supportsIPv6 = "supports_ipv6"
    case supportsDNS = "supports_dns"
    case gateways
    case sources
    case routes
    case dns
    case linkQuality = "link_quality"
    case underlyingTypes = "underlying_types"
    case warnings

    public func differs(_ left: Path, _ right: Path) -> Bool { differs(left.fields, right.fields) }

    private func differs(_ left: PathFields, _ right: PathFields) -> Bool {
        switch self {
        case .status: left.status != right.status
        case .unsatisfiedReason: left.reason != right.reason || left.subject != right.subject
        case .interfaces: left.interfaces != right.interfaces
        case .isExpensive: left.isExpensive != right.isExpensive
        case .isConstrained: left.isConstrained != right.isConstrained
        case .isUltraConstrained: left.isUltraConstrained != right.isUltraConstrained
        case .supportsIPv4: (left.ipv4 == nil) != (right.ipv4 == nil)
        case .supportsIPv6: (left.ipv6 == nil) != (right.ipv6 == nil)
        case .supportsDNS: left.dns.isUsable != right.dns.isUsable
        case .gateways:
            left.ipv4?.gateways ?? [] != right.ipv4?.gateways ?? []
                || left.ipv6?.gateways ?? [] != right.ipv6?.gateways ?? []
        case .sources: left.ipv4?.sources != right.ipv4?.sources || left.ipv6?.sources != right.ipv6?.sources
        case .routes:
            left.ipv4?.interfaces != right.ipv4?.interfaces || left.ipv6?.interfaces != right.ipv6?.interfaces
                || left.ipv4.isOnLink != right.ipv4.isOnLink || left.ipv6.isOnLink != right.ipv6.isOnLink
        case .dns:
            left.dns.servers != right.dns.servers || left.dns.search != right.dns.search
                || left.dns.source != right.dns.source
        case .linkQuality: left.linkQuality != right.linkQuality
        case .underlyingTypes: left.underlyingTypes != right.underlyingTypes
        case .warnings:
            left.warnings != right.warnings || left.ipv4.isUnanswered != right.ipv4.isUnanswered
                || left.ipv6.isUnanswered != right.ipv6.isUnanswered
        }
    }

    /// The fields that differ between two paths, in the order of the document; empty exactly when they are equal.
    public static func differences(_ left: Path, _ right: Path) -> [PathField] {
        left == right ? [] : unequal(left, right)
    }

    /// As ``differences(_:_:)`` for paths that are known to differ.
    static func unequal(_ left: Path, _ right: Path) -> [PathField] {
        let (left, right) = (left.fields, right.fields)
        return allCases.filter { $0.differs(left, right) }
    }
}

extension FamilyPath? {
    fileprivate var isOnLink: Bool { self?.isOnLink ?? false }
    fileprivate var isUnanswered: Bool { self?.isUnanswered ?? false }
}
