// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink

/// What the table says about the Internet.
enum RouteFinding {
    /// Packets match a route; `isFullTable` when no default but most of a full table answered.
    case found(RouteChoice, isFullTable: Bool)
    /// Packets are refused, those to `probe` for example.
    case refused(RouteRefusal, probe: IPAddress?)
}

/// Collects route lookups of some addresses until they decide what becomes of packets to the Internet (rule S20).
///
/// A short prefix stands for everything. A longer one is a route to the address itself, and a failure may come from one.
/// The built-in probes are addresses that people make routes and rules for, so others are looked up too. Probes that
/// the operator chose stand for themselves.
struct RoutePoll {
    /// What to look up, in this order; nothing is sent.
    let addresses: [IPAddress]
    private let family: AddressFamily
    private let isBuiltIn: Bool
    private var recorded = 0
    private var routed: [RouteChoice] = []
    /// Those that are routed as single destinations of a full table are.
    private var parts: [RouteChoice] = []
    private var failures: [(probe: IPAddress, refusal: RouteRefusal)] = []

    init(_ family: AddressFamily, probes: [IPAddress]) {
        self.family = family
        isBuiltIn = probes == PathPolicy.defaultProbes[family]
        addresses = isBuiltIn ? Self.builtIn[family] ?? probes : probes
    }

    /// The built-in probes, and the samples between the first and the others.
    private static let builtIn = PathPolicy.defaultProbes.reduce(into: [AddressFamily: [IPAddress]]()) { all, entry in
        all[entry.key] = entry.value.prefix(1) + samples(entry.key) + entry.value.dropFirst()
    }

    /// The longest prefix that stands for the Internet when a probe matches it.
    static func longestPrefix(_ family: AddressFamily) -> Int { family == .ipv4 ? 8 : 16 }

    /// The same when a sample does: a default route, or one of the parts into which VPNs split it.
    private static let longestPart = 3

    /// The longest prefix by which a full table routes.
    private static func longestAnnounced(_ family: AddressFamily) -> Int { family == .ipv4 ? 24 : 48 }

    /// So many that agree decide.
    private static let quorum = 3

    /// Records the answer for the next address.
    /// - Returns: What is clear now; `nil` when more lookups are needed.
    mutating func record(_ result: Result<RouteChoice, RouteRefusal>) -> RouteFinding? {
        let probe = addresses[recorded]
        let isSample = isBuiltIn && Self.samples(family).contains(probe)
        recorded += 1
        switch result {
        case .success(let choice):
            let length = choice.entry.prefixLength
            let isUnicast = choice.entry.type == .unicast
            if length <= (isSample ? Self.longestPart : Self.longestPrefix(family)) {
                // A default route that is local or the like forwards nothing.
                guard isUnicast else { return .refused(RouteRefusal(failure: .noRoute), probe: probe) }
                routed.append(choice)
            } else if isUnicast, !isBuiltIn || length <= Self.longestAnnounced(family) {
                parts.append(choice)
            }
        case .failure(let refusal):
            // A lookup that failed, as where a recording lacks the answer, decides nothing.
            if case .other = refusal.failure { break }
            failures.append((probe, refusal))
        }
        return early
    }

    private var early: RouteFinding? {
        if let first = routed.first {
            if failures.isEmpty || isBuiltIn && failures.count == 1 && routed.count >= Self.quorum {
                return .found(first, isFullTable: false)
            }
        } else if isBuiltIn, parts.isEmpty, failures.count >= Self.quorum, let last = failures.last,
            failures.suffix(Self.quorum).allSatisfy({ $0.refusal == last.refusal })
        {
            return .refused(last.refusal, probe: last.probe)
        }
        return nil
    }

    /// What all answers decide together.
    var finding: RouteFinding {
        if isBuiltIn {
            if let first = routed.first, routed.count >= failures.count { return .found(first, isFullTable: false) }
            let samples = Self.samples(family)
            let probes = addresses.count - samples.count
            let isFull =
                parts.count { !samples.contains($0.destination) } * 2 > probes
                && !failures.contains { $0.refusal.failure.isExplicit }
            if let first = parts.first, isFull || parts.count >= Self.quorum && parts.count > failures.count {
                return .found(first, isFullTable: true)
            }
        } else if let first = routed.first ?? parts.first, (routed.count + parts.count) * 2 > addresses.count {
            return .found(first, isFullTable: routed.isEmpty)
        }
        let commonest = failures.max { left, right in
            failures.count { $0.refusal == left.refusal } < failures.count { $0.refusal == right.refusal }
        }
        guard let commonest else { return .refused(RouteRefusal(failure: .noRoute), probe: addresses.first) }
        return .refused(commonest.refusal, probe: commonest.probe)
    }

    /// Addresses spread over what the five regional registries assign, which nobody makes routes for.
    private static func samples(_ family: AddressFamily) -> [IPAddress] {
        family == .ipv4 ? ipv4Samples : ipv6Samples
    }

    /// 151.101.1.7, 13.32.1.7, 196.216.1.7, 45.57.1.7, 80.67.1.7, 177.54.1.7, 31.13.64.7, 103.21.244.7, 62.115.1.7.
    private static let ipv4Samples: [IPAddress] = [
        .v4(0x9765_0107), .v4(0x0D20_0107), .v4(0xC4D8_0107), .v4(0x2D39_0107), .v4(0x5043_0107), .v4(0xB136_0107),
        .v4(0x1F0D_4007), .v4(0x6715_F407), .v4(0x3E73_0107),
    ]

    /// 2a00:1450::7, 2600:1400::7, 2400:cb00::7, 2800:3f0::7, 2c0f:fb50::7, 2001:500::7, 2803:f800::7.
    private static let ipv6Samples: [IPAddress] = [
        .v6(0x2A00_1450 << 96 | 7), .v6(0x2600_1400 << 96 | 7), .v6(0x2400_CB00 << 96 | 7), .v6(0x2800_03F0 << 96 | 7),
        .v6(0x2C0F_FB50 << 96 | 7), .v6(0x2001_0500 << 96 | 7), .v6(0x2803_F800 << 96 | 7),
    ]
}
