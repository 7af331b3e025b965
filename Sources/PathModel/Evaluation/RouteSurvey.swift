// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink

/// Asks the forwarding table on behalf of one monitor, and counts the questions.
struct RouteSurvey {
    let table: any ForwardingTable
    let probes: [AddressFamily: [IPAddress]]
    let mark: UInt32
    let uid: UInt32?
    /// The interface of the monitor (rule S29).
    let bound: Int?
    private(set) var lookups = 0

    init(table: any ForwardingTable, probes: [AddressFamily: [IPAddress]], mark: UInt32, uid: UInt32?, bound: Int?) {
        self.table = table
        self.probes = probes
        self.mark = mark
        self.uid = uid
        self.bound = bound
    }

    mutating func ask(
        _ destination: IPAddress,
        _ kind: RouteQuery.Kind,
        by index: Int? = nil,
        mark: UInt32? = nil
    ) -> Result<RouteAnswer, RouteFailure> {
        lookups += 1
        return table.lookup(
            RouteQuery(destination, kind: kind, outputInterface: index ?? bound, mark: mark ?? self.mark, uid: uid)
        )
    }

    /// Asks where marked packets go that are bound to nothing.
    mutating func askUnbound(_ destination: IPAddress, mark: UInt32) -> RouteAnswer? {
        lookups += 1
        return try? table.lookup(RouteQuery(destination, kind: .entry, mark: mark, uid: uid)).get()
    }

    /// Finds the route of the family that stands for the Internet (rule S20).
    mutating func survey(_ family: AddressFamily) -> RouteFinding {
        var poll = RoutePoll(family, probes: probes[family] ?? [])
        for address in poll.addresses {
            if let finding = poll.hear(ask(address, .entry)) { return finding }
        }
        return poll.finding
    }

    /// Whether the Internet can be reached when bound to an interface (rule S16), with as few questions as possible.
    mutating func survey(
        _ family: AddressFamily,
        by index: Int,
        like finding: RouteFinding,
        mark: UInt32? = nil
    ) -> (probe: IPAddress, answer: RouteAnswer)? {
        var probes = RoutePoll(family, probes: probes[family] ?? []).addresses
        var limit = RoutePoll.longestPrefix(family)
        if case .found(let probe, _, let isFullTable) = finding {
            probes = [probe] + probes.filter { $0 != probe }
            if isFullTable { limit = family.bitWidth }
        }
        for probe in probes {
            switch ask(probe, .entry, by: index, mark: mark) {
            case .success(let answer) where answer.prefixLength <= limit:
                return answer.type == .unicast ? (probe, answer) : nil
            // A route to the probe may refuse; without any route all fail alike.
            case .success, .failure(.blackhole), .failure(.prohibited): continue
            case .failure: return nil
            }
        }
        return nil
    }
}
