// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import Netlink
internal import Spelling

/// Classifies interfaces: what one is, whether it works, whether it counts.
///
/// It holds a snapshot: make one for each use and release it before the next event is applied, else the state is
/// copied. It is an object because it is handed around a lot and has many parts.
public final class InterfaceClassifier: Sendable {
    public let state: KernelState
    public let facts: ProviderFacts
    public let policy: PathPolicy
    /// Which interfaces ever carried traffic.
    public let memory: InterfaceMemory
    private let ignoredNames: Set<String>
    private let ignoredPatterns: [Glob]
    private let exact: [String: Int]
    private let patterns: [(glob: Glob, position: Int)]

    public init(
        state: KernelState,
        facts: ProviderFacts = ProviderFacts(),
        policy: PathPolicy = PathPolicy(),
        memory: InterfaceMemory = InterfaceMemory()
    ) {
        self.state = state
        self.facts = facts
        self.policy = policy
        self.memory = memory
        let ignored = policy.ignore.map(Self.parse)
        ignoredNames = Set(ignored.compactMap(\.name))
        ignoredPatterns = ignored.compactMap(\.glob)
        var exact: [String: Int] = [:]
        var patterns: [(glob: Glob, position: Int)] = []
        for (position, entry) in policy.interfaces.enumerated() {
            let (name, glob) = Self.parse(entry.match)
            if let name, exact[name] == nil { exact[name] = position }
            if let glob { patterns.append((glob, position)) }
        }
        self.exact = exact
        self.patterns = patterns
    }

    /// A name, or a pattern with wildcards; a text that is neither stands for itself.
    private static func parse(_ text: String) -> (name: String?, glob: Glob?) {
        guard let glob = Glob(text) else { return (text, nil) }
        return glob.literal.map { ($0, nil) } ?? (nil, glob)
    }

    // MARK: - What the operator decided

    /// What the operator decided about the interface: its name before alternative names before globs, the first of each.
    public func decision(for link: Link) -> InterfacePolicy? {
        if let position = exact[link.name] ?? link.alternativeNames.lazy.compactMap({ self.exact[$0] }).first {
            return policy.interfaces[position]
        }
        return patterns.first { matches(link, $0.glob) }.map { policy.interfaces[$0.position] }
    }

    /// Whether the operator wants an alert when the interface is down.
    public func isRequired(_ link: Link) -> Bool { decision(for: link)?.isRequired ?? false }

    /// Names of required interfaces, without globs, that do not exist.
    public var missingRequired: [String] {
        policy.interfaces.filter { $0.isRequired == true }.compactMap { Self.parse($0.match).name }
            .filter { state.link(named: $0) == nil }
    }

    public func isListedIgnored(_ link: Link) -> Bool {
        ignoredNames.contains(link.name) || link.alternativeNames.contains(where: ignoredNames.contains)
            || ignoredPatterns.contains { matches(link, $0) }
    }

    private func matches(_ link: Link, _ glob: Glob) -> Bool {
        glob.matches(link.name) || link.alternativeNames.contains(where: glob.matches)
    }

    // MARK: - Role

    /// Whether a bridge, bond, team or virtual switch carries the traffic of this port; a VRF does not count (rule S15).
    public func isEnslaved(_ link: Link) -> Bool {
        guard let master = link.master else { return false }
        if let kind = link.portKind { return kind != "vrf" }
        return state.links[master]?.kind != "vrf"
    }

    public func vrf(of link: Link) -> Link? {
        guard let master = link.master.flatMap({ state.links[$0] }), master.kind == "vrf" else { return nil }
        return master
    }

    public func isLoopback(_ link: Link) -> Bool { link.flags.contains(.loopback) || link.hardwareType == 772 }

    /// Whether the interface carries packets inside packets of another one.
    public func isTunnel(_ link: Link) -> Bool {
        switch facts.devices[link.index]?.role {
        case .vpn: true
        case .modem: false
        default: InterfaceKind.isTunnel(link)
        }
    }

    /// Whether the interface could be listed by a path at all (rule S15); whether it carries is another question.
    public func isEligible(_ link: Link) -> Bool {
        !isLoopback(link) && !isEnslaved(link) && !isListedIgnored(link) && !InterfaceKind.isNetworkless(link)
    }

    /// Whether events, metrics and documents leave the interface out unless listed.
    ///
    /// Ignored are loopback, interfaces on the ignore list, ports of bridges and the like, and virtual links of kinds
    /// that containers use, as long as they never carried traffic and nobody requires them. VLANs, bonds, macvlans,
    /// wireguard, modems and hardware are published unless they are listed or ports.
    public func isIgnored(_ link: Link) -> Bool {
        if isLoopback(link) || isListedIgnored(link) || isEnslaved(link) { return true }
        if memory.everAvailable.contains(link.index) || isRequired(link) { return false }
        if InterfaceKind.isNetworkless(link) && link.kind != "vrf" { return true }
        return isPlumbing(link)
    }

    /// Whether the link looks like the plumbing of containers, or an unused tunnel.
    func isPlumbing(_ link: Link) -> Bool {
        guard let kind = link.kind else { return isIdleTunnel(link) }
        return InterfaceKind.plumbing.contains(kind) || (kind != "wireguard" && isIdleTunnel(link))
    }

    /// A tunnel without any address, such as the `tunl0` and `sit0` that kernel modules bring along.
    private func isIdleTunnel(_ link: Link) -> Bool {
        InterfaceKind.isTunnel(link) && !state.routableInterfaces.contains(link.index)
    }

    // MARK: - Use

    /// What keeps the interface from carrying traffic; `nil` when link and address are in order.
    ///
    /// Routes are not considered.
    public func unusableReason(of link: Link) -> UnusableReason? {
        if isLoopback(link) { return .loopback }
        if let fault = fault(of: link) { return fault.problem }
        if isEnslaved(link) { return .enslaved }
        if isListedIgnored(link) { return .ignored }
        let addresses = state.addresses[link.index] ?? []
        if addresses.contains(where: { $0.value.isUsableSource }) { return nil }
        if addresses.contains(where: { $0.isRoutable && $0.value.isPending }) { return .dadPending }
        return link.operationalState == .dormant ? .dormant : .noAddress
    }
}
