// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import Netlink

/// An address with the time at which the kernel reported it.
///
/// The kernel reports lifetimes as what remains at the time of the message (`IFA_CACHEINFO`), so that time is needed to
/// know when they end.
public struct HeldAddress: Hashable, Sendable {
    public var value: InterfaceAddress
    /// When it was reported, as time since boot.
    public var receivedAt: Duration

    public init(_ value: InterfaceAddress, receivedAt: Duration) {
        self.value = value
        self.receivedAt = receivedAt
    }

    /// When the address stops being valid, as time since boot; `nil` means never.
    public var validUntil: Duration? {
        value.validSeconds.map { receivedAt + .seconds(Int64($0)) }
    }

    /// Whether packets for the Internet can come from it: not loopback, not IPv6 link-local (rule S24).
    public var isRoutable: Bool { value.isRoutable }

    /// Whether only lifetimes differ from `other`: a refresh by DHCP or a router advertisement (rule S27).
    func isRefresh(of other: HeldAddress) -> Bool {
        var left = value
        left.updated = other.value.updated
        left.created = other.value.created
        left.validSeconds = other.value.validSeconds
        left.preferredSeconds = other.value.preferredSeconds
        return left == other.value
    }
}

extension InterfaceAddress {
    /// Whether packets for the Internet can come from it: not loopback, not IPv6 link-local (rule S24).
    package var isRoutable: Bool {
        guard !address.isLoopback, !address.isUnspecified, !address.isMulticast else { return false }
        if address.family == .ipv4 { return scope < 254 }
        return !address.isLinkLocal && scope < 253
    }

    /// Whether duplicate address detection still keeps it from being used (rule S26).
    var isPending: Bool {
        flags.contains(.tentative) && !flags.contains(.optimistic) && !flags.contains(.duplicateDetected)
    }

    /// Whether packets for the Internet can come from it now (rules S24, S26).
    var isUsableSource: Bool { isRoutable && !isPending && !flags.contains(.duplicateDetected) }
}
