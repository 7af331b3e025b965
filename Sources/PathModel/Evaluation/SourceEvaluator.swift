// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink

/// Evaluates the source address that the kernel would give a packet (rules S24 to S26).
struct SourceEvaluator {
    let interfaces: InterfaceClassifier

    struct Verdict {
        var isUsable = false
        /// Why it is not: addresses of the nexthop are still being checked for duplicates.
        var isPending = false
        /// Why it is not, in words for others.
        var obstacle: ReasonSubject.Obstacle?
        var warnings: Set<PathWarning> = []
        var held: HeldAddress?
        /// Whether packets leave only while the kernel knows the hardware address of the next hop.
        var needsResolvedHop = false
    }

    /// Evaluates `source` for packets that leave by `interface`; `isNear` when they stay on its link, where an
    /// IPv6 link-local source serves; `hop` is the kernel's entry of the next hop.
    func evaluate(
        _ source: IPAddress?,
        by interface: Int,
        family: AddressFamily,
        isNear: Bool = false,
        hop: NeighborState = .none
    ) -> Verdict {
        var verdict = Verdict()
        let own = interfaces.state.addresses[interface] ?? []
        guard let source, !source.isUnspecified, !source.isLoopback, !source.isMulticast, source.family == family,
            family == .ipv4 || isNear || !source.isLinkLocal
        else {
            let routable = own.filter { $0.value.address.family == family && $0.isRoutable }
            verdict.isPending = routable.contains { $0.value.isPending }
            let duplicate = routable.first { $0.value.flags.contains(.duplicateDetected) }
            verdict.obstacle = duplicate.map { .duplicate($0.value.address) }
            return verdict
        }
        verdict.held = own.first { $0.value.address == source } ?? elsewhere(source)
        if let held = verdict.held?.value, family == .ipv6, held.index != interface || held.flags.contains(.optimistic),
            !canSolicit(by: interface)
        {
            verdict.needsResolvedHop = true
            if !hop.hasHardwareAddress {
                verdict.isPending = own.contains { $0.value.isPending && $0.value.address.isLinkLocal }
                if !verdict.isPending { verdict.obstacle = .noLinkLocal }
                return verdict
            }
        }
        if let flags = verdict.held?.value.flags {
            if flags.contains(.duplicateDetected) {
                verdict.obstacle = .duplicate(source)
                return verdict
            }
            if verdict.held?.value.isPending == true {
                verdict.isPending = true
                return verdict
            }
            if flags.contains(.deprecated) { verdict.warnings.insert(.deprecatedSource) }
        }
        verdict.isUsable = true
        if verdict.held?.value.index != interface { verdict.warnings.insert(.borrowedSource) }
        if source.isLinkLocal { verdict.warnings.insert(.linkLocalSource) }
        if source.isUniqueLocal { verdict.warnings.insert(.ulaOnly) }
        return verdict
    }

    /// Whether the kernel can resolve neighbours there for another interface's address or an optimistic one.
    ///
    /// Neighbor Solicitation comes from another address of its own interface (RFC 4429 section 3.1); without one packets
    /// leave only while the neighbour's entry lasts (measured).
    private func canSolicit(by interface: Int) -> Bool {
        guard let link = interfaces.state.links[interface], link.flags.isDisjoint(with: [.noARP, .pointToPoint]) else {
            return true
        }
        return (interfaces.state.addresses[interface] ?? []).contains { held in
            held.value.address.family == .ipv6 && !held.value.isPending
                && held.value.flags.isDisjoint(with: [.duplicateDetected, .optimistic])
        }
    }

    /// The same address on whatever interface has it; needed only for borrowed ones.
    private func elsewhere(_ source: IPAddress) -> HeldAddress? {
        var best: HeldAddress?
        for list in interfaces.state.addresses.values {
            for held in list where held.value.address == source && held.value.index < best?.value.index ?? .max {
                best = held
            }
        }
        return best
    }

    /// Whether the interface has an address of the family that packets could come from.
    func hasSource(_ index: Int, family: AddressFamily) -> Bool {
        (interfaces.state.addresses[index] ?? []).contains { held in
            held.value.address.family == family && held.value.isUsableSource
        }
    }
}
