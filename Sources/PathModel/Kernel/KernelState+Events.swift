// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import Netlink

extension KernelState {
    /// Applies one kernel event.
    /// - Parameters:
    ///   - event: The event.
    ///   - now: The time since boot at which it was read.
    /// - Returns: What the event requires, or `nil` when it changes nothing.
    public mutating func apply(_ event: KernelEvent, at now: Duration) -> Trigger? {
        switch event {
        case .link(let link):
            let above = stack(above: link.index, of: link)
            let changed = store(link, at: now)
            guard changed || !above.isEmpty else { return nil }
            return Trigger(
                cause: .link,
                message: "RTM_NEWLINK",
                index: link.index,
                reread: above,
                needsEvaluation: changed
            )
        case .linkHint(let index):
            return Trigger(
                cause: .link,
                message: "RTM_NEWLINK",
                index: index,
                reread: [index],
                needsEvaluation: false
            )
        case .linkRemoved(let index, _):
            let above = stack(above: index, of: nil)
            guard remove(link: index) else { return nil }
            return Trigger(cause: .link, message: "RTM_DELLINK", index: index, reread: above)
        case .bridgePort(let index, let master):
            var reread = [index] + stack(above: index, of: nil)
            if let master, !reread.contains(master) { reread.append(master) }
            return Trigger(
                cause: .link,
                message: "RTM_NEWLINK",
                index: index,
                reread: reread,
                needsEvaluation: false
            )
        case .address(let address):
            guard store(address, at: now) else { return nil }
            return Trigger(cause: .address, message: "RTM_NEWADDR", index: address.index)
        case .addressRemoved(let address):
            guard remove(address) else { return nil }
            return Trigger(cause: .address, message: "RTM_DELADDR", index: address.index)
        case .neighbor(let neighbor, let removed):
            let key = NeighborKey(index: neighbor.index, address: neighbor.address)
            // That a resolution begins again is not announced: a second failure implies one.
            let isChange = note(removed ? nil : neighbor, of: key)
            guard isChange || neighbors[key]?.isRival == true else { return nil }
            let message = removed ? "RTM_DELNEIGH" : "RTM_NEWNEIGH"
            return Trigger(cause: .neighbor, message: message, index: neighbor.index)
        case .bridgeEntry(let entry, let removed):
            // A port without carrier forgets, but where the neighbour was it is gone from.
            guard !removed, note(entry) else { return nil }
            return Trigger(cause: .neighbor, message: "RTM_NEWNEIGH", index: entry.port)
        case .route(let notice):
            return Trigger(cause: .route, message: notice.removed ? "RTM_DELROUTE" : "RTM_NEWROUTE")
        case .rule(_, let removed):
            return Trigger(cause: .rule, message: removed ? "RTM_DELRULE" : "RTM_NEWRULE")
        case .nexthop(_, let removed):
            return Trigger(cause: .nexthop, message: removed ? "RTM_DELNEXTHOP" : "RTM_NEWNEXTHOP")
        case .settings(_, let index):
            return Trigger(cause: .settings, message: "RTM_NEWNETCONF", index: index > 0 ? index : nil)
        case .routerDNS:
            return nil
        }
    }

    /// Applies the reading of one link that a trigger requested.
    /// - Parameters:
    ///   - index: The link that was read.
    ///   - link: What the kernel says, or `nil` when it does not exist.
    ///   - now: The time since boot.
    /// - Returns: Whether that changed anything.
    public mutating func reread(_ index: Int, as link: Link?, at now: Duration) -> Bool {
        guard let link else { return remove(link: index) }
        return store(link, at: now)
    }

    /// Replaces everything with a full reading.
    /// - Returns: What no event had announced.
    public mutating func replace(
        links newLinks: [Link],
        addresses newAddresses: [InterfaceAddress],
        at now: Duration
    ) -> StateDifference {
        var difference = StateDifference()
        let isFirst = links.isEmpty
        let present = Set(newLinks.map(\.index))
        for index in Array(links.keys) where !present.contains(index) {
            _ = remove(link: index)
            difference.removedLinks.append(index)
        }
        for link in newLinks {
            let old = links[link.index]
            guard store(link, at: isFirst ? .zero : now) else { continue }
            guard var old else {
                difference.addedLinks.append(link.index)
                continue
            }
            // Nothing announces it, and no answer rests on it.
            old.isIPv6Disabled = link.isIPv6Disabled
            if old != link { difference.changedLinks.append(link.index) }
        }
        let byIndex = Dictionary(grouping: newAddresses, by: \.index)
        for index in Set(addresses.keys).union(byIndex.keys) where replace(byIndex[index] ?? [], of: index, at: now) {
            difference.changedAddresses.append(index)
        }
        difference.addedLinks.sort()
        difference.removedLinks.sort()
        difference.changedLinks.sort()
        difference.changedAddresses.sort()
        return difference
    }

    private mutating func replace(_ new: [InterfaceAddress], of index: Int, at now: Duration) -> Bool {
        var changed = false
        for held in addresses[index] ?? [] where !new.contains(where: { $0.isSame(as: held.value) }) {
            changed = remove(held.value) || changed
        }
        for address in new {
            let old = addresses[index]?.first { $0.value.isSame(as: address) }
            let new = HeldAddress(address, receivedAt: now)
            _ = store(address, at: now)
            if let old, new.isRefresh(of: old) { continue }
            changed = true
        }
        return changed
    }

    /// The masters of a link and their masters, before and after a change, and what stands on it (rule S14).
    private func stack(above index: Int, of link: Link?) -> [Int] {
        var above: [Int] = []
        var pending = [links[index]?.master, link?.master].compactMap(\.self) + (uppers[index] ?? []).sorted()
        while let next = pending.popLast() {
            guard next != index, !above.contains(next), above.count < 64 else { continue }
            above.append(next)
            if let master = links[next]?.master { pending.append(master) }
            pending += uppers[next] ?? []
        }
        return above.sorted()
    }
}

// MARK: - Storing

extension KernelState {
    private mutating func store(_ link: Link, at now: Duration) -> Bool {
        let old = links[link.index]
        guard old != link else { return false }
        links[link.index] = link
        touched.insert(link.index)
        if link.kind == "bridge" { bridges.insert(link.index) } else { bridges.remove(link.index) }
        if old?.name != link.name || old?.alternativeNames != link.alternativeNames {
            if let old { forgetNames(of: old) }
            indexes[link.name] = link.index
            for name in link.alternativeNames { alternativeIndexes[name] = link.index }
        }
        if old?.master != link.master {
            if let master = old?.master { ports[master]?.remove(link.index) }
            if let master = link.master { ports[master, default: []].insert(link.index) }
        }
        // What stands on a link, or sends by it, is as good as it is.
        touched.formUnion(stack(above: link.index, of: old))
        let (below, nowBelow) = (old?.below ?? [], link.below)
        if below != nowBelow {
            for index in below { uppers[index]?.remove(link.index) }
            for index in nowBelow { uppers[index, default: []].insert(link.index) }
        }
        if old?.hsrPorts != link.hsrPorts, link.kind == "hsr" { ports[link.index] = Set(link.hsrPorts) }
        touched.formUnion(hsrLinks(over: link.index))
        let wasLetIn = old?.operationalState == .dormant && link.operationalState != .dormant
        if link.unusableReason != nil {
            settling[link.index] = nil
        } else if old == nil || old?.unusableReason != nil || wasLetIn, !routable.contains(link.index) {
            settling[link.index] = now
        }
        return true
    }

    private mutating func remove(link index: Int) -> Bool {
        guard let link = links.removeValue(forKey: index) else { return false }
        touched.insert(index)
        forgetNames(of: link)
        if let master = link.master { ports[master]?.remove(index) }
        for below in link.below { uppers[below]?.remove(index) }
        touched.formUnion(hsrLinks(over: index))
        if let master = link.master, links[master] != nil { touched.insert(master) }
        ports[index] = nil
        uppers[index] = nil
        bridges.remove(index)
        addresses[index] = nil
        routable.remove(index)
        settling[index] = nil
        return true
    }

    /// Forgets the names that no other link has now.
    private mutating func forgetNames(of link: Link) {
        if indexes[link.name] == link.index { indexes[link.name] = nil }
        for name in link.alternativeNames where alternativeIndexes[name] == link.index {
            alternativeIndexes[name] = nil
        }
    }

    /// - Returns: Whether an evaluation could come out differently; a plain refresh of lifetimes does not (rule S27).
    private mutating func store(_ address: InterfaceAddress, at now: Duration) -> Bool {
        let held = HeldAddress(address, receivedAt: now)
        var list = addresses[address.index] ?? []
        guard let position = list.firstIndex(where: { $0.value.isSame(as: address) }) else {
            list.append(held)
            addresses[address.index] = list
            touched.insert(address.index)
            if held.isRoutable {
                routable.insert(address.index)
                settling[address.index] = nil
            }
            return true
        }
        let old = list[position]
        list[position] = held
        addresses[address.index] = list
        touched.insert(address.index)
        if held.isRefresh(of: old) { return old.isOutlived(by: held, at: now) }
        updateRoutable(address.index, after: list)
        return true
    }

    private mutating func remove(_ address: InterfaceAddress) -> Bool {
        guard var list = addresses[address.index],
            let position = list.firstIndex(where: { $0.value.isSame(as: address) })
        else { return false }
        list.remove(at: position)
        addresses[address.index] = list.isEmpty ? nil : list
        touched.insert(address.index)
        updateRoutable(address.index, after: list)
        return true
    }

    private mutating func updateRoutable(_ index: Int, after list: [HeldAddress]) {
        if list.contains(where: \.isRoutable) {
            routable.insert(index)
            settling[index] = nil
        } else {
            routable.remove(index)
        }
    }
}

extension HeldAddress {
    /// Whether a refresh matters: it ends earlier than thought, or the old lifetime was close enough to its end to warn.
    fileprivate func isOutlived(by new: HeldAddress, at now: Duration) -> Bool {
        guard let old = validUntil else { return new.validUntil != nil }
        guard let new = new.validUntil else { return true }
        return new + .seconds(1) < old || old - now < (new - now) / 4
    }
}

extension InterfaceAddress {
    /// Whether both name one entry of the kernel's list, whatever its flags and lifetimes.
    ///
    /// One IPv4 address may stand there once for each peer.
    fileprivate func isSame(as other: InterfaceAddress) -> Bool {
        address == other.address && prefixLength == other.prefixLength && index == other.index
            && (address.family == .ipv6 || peer == other.peer)
    }
}

extension Link {
    /// The links whose state decides about its own: the one it stands on, or the ports of an HSR link.
    fileprivate var below: Set<Int> { Set([standsOn].compactMap(\.self) + hsrPorts) }

    /// The link it stands on: `lower`, unless that is the other end of a veth pair.
    var standsOn: Int? {
        guard let lower, kind != "veth", kind != "netkit", lower != index else { return nil }
        return lower
    }
}
