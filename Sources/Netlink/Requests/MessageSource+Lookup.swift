// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

extension MessageSource {
    /// Where a packet would go (`RTM_GETROUTE`).
    ///
    /// IPv6 answers some lookups with a route that rejects; that reads as the failure it would be. A route with only
    /// the ID of its nexthop object (`nexthop_compat_mode=0`, rule S31) gets its nexthops. Where lookups are not
    /// answered at all, the main table is read (rule S50).
    public func lookup(_ query: RouteQuery) -> Result<RouteAnswer, RouteFailure> { answer(to: query) }

    /// The same for sources that choose what to query.
    func answer(to query: RouteQuery) -> Result<RouteAnswer, RouteFailure> {
        if let source = query.source, source.family != query.destination.family { return .failure(.familyUnsupported) }
        var entry: RouteEntry?
        do {
            _ = try request(.lookup(query)) { _, body in
                entry = RouteEntry(decoding: body)
                return false
            }
        } catch {
            let failure = RouteFailure(errno: error.code)
            if failure.isWithoutLookups, let answer = try? lookUpInMainTable(query) { return answer }
            return .failure(failure)
        }
        return entry.map { resolve($0.answer) } ?? .failure(.other(74))
    }

    func resolve(_ answer: RouteAnswer) -> Result<RouteAnswer, RouteFailure> {
        if case .failure(let failure) = answer.verdict { return .failure(failure) }
        guard let id = answer.nexthopID, answer.nexthops.isEmpty else { return .success(answer) }
        do {
            var answer = answer
            answer.nexthops = try nexthops(ofNexthop: id) ?? []
            return .success(answer)
        } catch {
            return .failure(RouteFailure(errno: error.code))
        }
    }

    /// The nexthops of a nexthop object or of all members of a group.
    func nexthops(ofNexthop id: UInt32) throws(NetlinkError) -> [RouteNexthop]? {
        guard let object = try nexthop(id: id) else { return nil }
        if object.members.isEmpty { return object.nexthop.map { [$0] } }
        var nexthops: [RouteNexthop] = []
        for member in object.members {
            // Groups do not nest; a member may be gone by now.
            guard let nexthop = try nexthop(id: member)?.nexthop else { continue }
            nexthops.append(nexthop)
        }
        return nexthops
    }

    /// Makes the kernel find out whether a neighbour answers; the result comes as an event (rule S52).
    ///
    /// An entry with a hardware address is set to `NUD_PROBE`; without one, resolution starts. Permanent entries and
    /// those of links without resolution stay as they are, and so do those that another program administers: whatever
    /// the request says, older kernels would clear flags that they or we do not know.
    /// - Returns: `false` for an entry of another program, which the kernel probes when a packet goes there.
    /// - Throws: ``NetlinkError/notPermitted(request:)`` without `CAP_NET_ADMIN`.
    @discardableResult
    public func probeNeighbor(_ address: IPAddress, index: Int) throws(NetlinkError) -> Bool {
        var isAdministered = false
        let entry = try one(.neighbor(address, index: index)) { body -> Neighbor? in
            isAdministered = Neighbor.isAdministered(body)
            return Neighbor(decoding: body)
        }
        switch entry?.state {
        case .permanent, .noARP, .probe, .incomplete: return true
        case .reachable, .stale, .delay:
            guard !isAdministered else { return false }
            let isRouter = entry?.isRouter == true
            _ = try request(.setNeighbor(address, index: index, state: .probe, isRouter: isRouter)) { _, _ in true }
        case .failed, .some(.none), nil:
            guard !isAdministered else { return false }
            _ = try request(.setNeighbor(address, index: index, state: nil)) { _, _ in true }
        }
        return true
    }
}

extension RouteAnswer {
    var verdict: Result<RouteAnswer, RouteFailure> { type.failure.map { .failure($0) } ?? .success(self) }
}

extension RouteType {
    /// What a packet that matches such a route is refused with; `nil` when it is not refused.
    var failure: RouteFailure? {
        switch self {
        case .unreachable: .unreachable
        case .prohibit: .prohibited
        case .blackhole: .blackhole
        case .throw: .noRoute
        default: nil
        }
    }
}
