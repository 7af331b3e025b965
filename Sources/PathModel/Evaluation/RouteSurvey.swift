// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink

enum RouteFinding {
    /// Packets match a route; `isFullTable` when no default but most of a full table answered.
    case found(probe: IPAddress, answer: RouteAnswer, isFullTable: Bool)
    case refused(RouteFailure)
}

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

    /// The longest prefix that still stands for the Internet rather than for the probe (rule S20).
    static func longestPrefix(_ family: AddressFamily) -> Int { family == .ipv4 ? 8 : 16 }

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
    ///
    /// The first probe decides when it matches a short prefix. A longer match is a route to the probe itself, and a
    /// refusal may be one: then all probes are asked and the majority decides.
    mutating func survey(_ family: AddressFamily) -> RouteFinding {
        let probes = probes[family] ?? []
        var votes: [(probe: IPAddress, answer: RouteAnswer)] = []
        var refusals: [RouteFailure] = []
        for probe in probes {
            switch ask(probe, .entry) {
            case .success(let answer):
                let isShort = answer.prefixLength <= Self.longestPrefix(family)
                if let refusal = Self.refusal(of: answer.type) {
                    if isShort && refusals.isEmpty && votes.isEmpty { return .refused(refusal) }
                    refusals.append(refusal)
                } else if isShort && refusals.isEmpty {
                    return .found(probe: probe, answer: answer, isFullTable: false)
                } else {
                    votes.append((probe, answer))
                }
            case .failure(let failure):
                refusals.append(failure)
            }
            // Half of the probes refused: no majority can follow.
            if refusals.count * 2 >= probes.count { break }
        }
        guard votes.count * 2 > probes.count else { return .refused(Self.commonest(refusals)) }
        let short = votes.first { $0.answer.prefixLength <= Self.longestPrefix(family) }
        guard let vote = short ?? votes.first else { return .refused(.noRoute) }
        return .found(probe: vote.probe, answer: vote.answer, isFullTable: short == nil)
    }

    /// Whether the Internet can be reached when bound to an interface (rule S16), with as few questions as possible.
    mutating func survey(
        _ family: AddressFamily,
        by index: Int,
        like finding: RouteFinding,
        mark: UInt32? = nil
    ) -> (probe: IPAddress, answer: RouteAnswer)? {
        var probes = probes[family] ?? []
        var limit = Self.longestPrefix(family)
        if case .found(let probe, _, let isFullTable) = finding {
            probes = [probe] + probes.filter { $0 != probe }
            if isFullTable { limit = family.bitWidth }
        }
        for probe in probes {
            guard case .success(let answer) = ask(probe, .entry, by: index, mark: mark) else { return nil }
            if answer.prefixLength <= limit { return answer.type == .unicast ? (probe, answer) : nil }
        }
        return nil
    }

    /// What a route type that does not forward means; `nil` for one that does.
    private static func refusal(of type: RouteType) -> RouteFailure? {
        switch type {
        case .unicast: nil
        case .blackhole: .blackhole
        case .unreachable: .unreachable
        case .prohibit: .prohibited
        default: .noRoute
        }
    }

    /// The refusal that most probes met; the first one of equals.
    private static func commonest(_ refusals: [RouteFailure]) -> RouteFailure {
        var best: (failure: RouteFailure, count: Int)?
        for failure in refusals {
            let count = refusals.count { $0 == failure }
            if count > best?.count ?? 0 { best = (failure, count) }
        }
        return best?.failure ?? .noRoute
    }
}
