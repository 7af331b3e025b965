// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// Lookups where the kernel, or a sandbox that replaces it, answers none (rule S50).
extension MessageSource {
    /// What the main table says of a packet: the longest prefix wins, then the lowest metric.
    ///
    /// Rules, marks and other tables are ignored, and the source of a decision is the first good address of the
    /// nexthop. It costs a dump for each query, which is for kernels with a small table only.
    func lookUpInMainTable(_ query: RouteQuery) throws(NetlinkError) -> Result<RouteAnswer, RouteFailure> {
        let family = query.destination.family
        if query.destination.isLoopback {
            // The table of local addresses, which is not read here, has it.
            return .success(RouteAnswer(type: .local, table: 255, prefixLength: family.bitWidth))
        }
        var best: RouteEntry?
        // How many routes are read for one answer.
        let limit = 10_000
        var seen = 0
        _ = try request(.routes(family, table: 254, index: nil)) { _, body in
            seen += 1
            // Not every kernel keeps to the requested table.
            if let entry = RouteEntry(decoding: body), entry.answer.table == 254, entry.matches(query),
                best.map({ entry.isPreferred(to: $0) }) ?? true
            {
                best = entry
            }
            return seen < limit
        }
        guard var answer = best?.answer else {
            return .failure(query.outputInterface == nil ? .noRoute : .unreachable)
        }
        if let failure = answer.type.failure { return .failure(failure) }
        if let id = answer.nexthopID, answer.nexthops.isEmpty { answer.nexthops = try nexthops(ofNexthop: id) ?? [] }
        if query.kind == .decision { try decide(&answer, query) }
        return .success(answer)
    }

    /// Makes of a table's entry what the kernel would do with one packet: one nexthop, and a source.
    private func decide(_ answer: inout RouteAnswer, _ query: RouteQuery) throws(NetlinkError) {
        let family = query.destination.family
        let usable = answer.nexthops.filter { query.outputInterface == nil || $0.index == query.outputInterface }
        let nexthop = usable.first { $0.flags.isDisjoint(with: [.dead, .linkDown]) } ?? usable.first
        answer.nexthops = nexthop.map { [$0] } ?? []
        answer.prefixLength = family.bitWidth
        if let source = query.source ?? answer.preferredSource {
            answer.preferredSource = source
        } else if let nexthop {
            let own = try addresses().values.filter { $0.index == nexthop.index && $0.address.family == family }
            answer.preferredSource = own.min { $0.rank < $1.rank }.flatMap { $0.rank < 4 ? $0.address : nil }
        }
    }
}

extension RouteFailure {
    /// Whether the kernel does not know lookups, or something between forbids them: `EPERM`, `ENOSYS`, `EOPNOTSUPP`.
    var isWithoutLookups: Bool {
        switch self {
        case .other(1), .other(38), .other(95): true
        default: false
        }
    }
}

extension RouteEntry {
    /// Whether the packet in question matches the route.
    fileprivate func matches(_ query: RouteQuery) -> Bool {
        guard destination.contains(query.destination) else { return false }
        guard let index = query.outputInterface, answer.type == .unicast, !answer.nexthops.isEmpty else { return true }
        return answer.nexthops.contains { $0.index == index }
    }

    fileprivate func isPreferred(to other: RouteEntry) -> Bool {
        (-destination.length, answer.metric) < (-other.destination.length, other.answer.metric)
    }
}

extension InterfaceAddress {
    /// How good a source it is: lower is better, from 4 up it is none.
    fileprivate var rank: Int {
        if flags.contains(.duplicateDetected) || flags.contains(.tentative) && !flags.contains(.optimistic) { return 4 }
        if scope == 254 { return 4 }
        return (scope == 0 ? 0 : 2) + (flags.contains(.deprecated) ? 1 : 0)
    }
}
