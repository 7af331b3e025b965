// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import Netlink
public import PathModel
internal import Providers

public enum ExplanationReader {
    /// Reads the name servers, and which of those on this machine answer (rule S35).
    public static func nameServers(at path: String) -> DNSConfiguration {
        var configuration = ResolverFile.configuration(at: path)
        let destinations = Set(configuration.servers.map(\.destination))
        configuration.servedHere = LocalServerMonitor.served(destinations, over: configuration.usesTCP ? .tcp : .udp)
        return configuration
    }

    /// The name servers to query: none where no file names one and nothing on this machine answers in their place.
    public static func usedServers(at path: String) -> [DNSServer] {
        let configuration = nameServers(at: path)
        let isMeant = ResolverFile.namesServer(at: path) || configuration.servedHere.contains(where: \.isLoopback)
        return isMeant ? configuration.servers : []
    }

    /// What the kernel says of Wi-Fi interfaces and radio switches now, beside the name servers.
    public static func providerFacts(dns: DNSConfiguration) -> ProviderFacts {
        var facts = ProviderFacts(dns: dns)
        facts.wireless = WirelessProvider.current()
        facts.radios = RadioSwitchProvider.current()
        return facts
    }

    /// Reads links, addresses, rules, nexthops, neighbours, and the routes that explain a refusal.
    ///
    /// Of a full table only the first entries are read; what is missed then is reported less precisely, never wrongly.
    /// - Parameters:
    ///   - kernel: The source of all facts.
    ///   - policy: What the operator decided.
    ///   - dns: The name servers.
    ///   - uid: The user whose packets are in question.
    ///   - now: The time since boot.
    ///   - hasRadios: Whether nl80211 and rfkill are queried as well.
    /// - Returns: What to explain by.
    /// - Throws: ``NetlinkError`` when links, addresses or rules cannot be read.
    public static func facts(
        of kernel: some KernelSource,
        policy: PathPolicy,
        dns: DNSConfiguration,
        uid: UInt32,
        at now: Duration,
        hasRadios: Bool = false
    ) throws(NetlinkError) -> ExplanationFacts {
        var state = KernelState()
        let links = try kernel.links().values
        _ = state.replace(links: links, addresses: try kernel.addresses().values, at: now)
        let neighbors = (try? kernel.neighbors(index: nil))?.values ?? []
        state.learn(neighbors)
        var rejects: [RouteEntry] = []
        var defaults: [RouteEntry] = []
        for family in AddressFamily.allCases {
            for type in [RouteType.blackhole, .unreachable, .prohibit] {
                rejects += (try? kernel.routes(family, type: type, limit: 10_000) { _ in true })?.values ?? []
            }
            let all = try? kernel.routes(family, type: .unicast, limit: 10_000) { $0.destination.length == 0 }
            defaults += all?.values ?? []
        }
        let virtual = VirtualLinkProvider { state.links }
        virtual.refresh()
        let devices = virtual.tunnels.map { ($0, DeviceFacts(role: .vpn)) }
        var provided = ProviderFacts(
            dns: dns,
            devices: Dictionary(uniqueKeysWithValues: devices),
            teams: virtual.teams
        )
        if hasRadios {
            provided.wireless = WirelessProvider.current()
            provided.radios = RadioSwitchProvider.current()
        }
        return ExplanationFacts(
            classifier: InterfaceClassifier(state: state, facts: provided, policy: policy),
            rules: try kernel.rules().values,
            rejects: rejects,
            defaults: defaults,
            nexthops: (try? kernel.nexthops())?.values ?? [],
            neighbors: neighbors,
            uid: uid,
            now: now
        )
    }
}
