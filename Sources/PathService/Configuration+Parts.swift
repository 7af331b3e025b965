// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import Configuration
public import EventHub
internal import DNSWire
internal import EventLog
internal import LinuxIO
internal import MulticastDNS
internal import Netlink
public import PathEngine
internal import PathModel
internal import Providers
internal import Spelling
internal import StatusServer

/// What each part of the service is told by the configuration.
extension Configuration {
    /// The settings of a live engine: it is about what the sockets of this process get.
    public var engineSettings: EngineSettings {
        var policy = pathPolicy
        policy.boundInterface = SocketBinding.inherited()
        return EngineSettings(
            policy: policy,
            quiet: debounce.quiet,
            cap: debounce.cap,
            auditInterval: auditInterval,
            recoveryHold: recoveryHold,
            gatewayInterval: gatewayInterval
        )
    }

    /// How often gateways are probed at least; the standard tests request it where their packets do not pass one.
    private var gatewayInterval: Duration? {
        guard !gatewayLiveness.isEnabled else { return gatewayLiveness.interval }
        return connectivity.check == .off ? nil : .seconds(3600)
    }

    var rotation: RotationPolicy {
        RotationPolicy(
            size: log.maximumSize.bytes == 0 ? nil : Int(log.maximumSize.bytes),
            age: log.maximumAge == .zero ? nil : log.maximumAge,
            keep: log.keep
        )
    }

    /// The least severity that is published.
    public var minimumSeverity: Severity { log.level == .debug ? .debug : .info }

    var providerOptions: ProviderSet.Options {
        var options = ProviderSet.Options()
        options.resolvConf = dns.resolverFile
        let switches: [(ProviderSet.Name, Bool)] = [
            (.networkManager, providers.networkManager), (.resolved, providers.resolved),
            (.modemManager, providers.modemManager), (.nl80211, providers.nl80211),
            (.ethtool, providers.ethtool),
        ]
        for (name, isWanted) in switches where !isWanted { options.enabled.remove(name) }
        return options
    }

    var censusSettings: CensusSettings {
        var settings = CensusSettings()
        settings.interval = mdns.censusInterval
        settings.maximumTypes = mdns.maximumTypes
        // A watched type is asked for although nobody announces types (rule D1 is no duty of a responder).
        let types = mdns.watched.compactMap { DomainName("\($0.type).local") }
        settings.wellKnownTypes = types + settings.wellKnownTypes.filter { !types.contains($0) }
        return settings
    }

    /// How the endpoint behaves, guarded by what `protection` read.
    func serverConfiguration(_ protection: ProtectionFiles) -> StatusServer.Configuration {
        var server = StatusServer.Configuration()
        server.hostNames = hosts
        server.embedsBadge = embedsBadge
        server.access = protection.access
        server.tls = protection.tls
        server.server.connections = limits.maximumConnections
        server.server.connectionsPerListener = limits.maximumConnections
        server.server.headDeadline = limits.headerTimeout
        server.server.idleDeadline = limits.idleTimeout
        server.server.request.head = limits.maximumHeaderSize.bytes
        server.api.streams = limits.maximumStreams
        return server
    }

    /// The interfaces that settings name without a pattern, with the keys of those settings.
    private var namedInterfaces: [(name: String, key: String)] {
        var named: [(name: String, key: String)] = interfaces.compactMap { entry in
            Glob(entry.name)?.literal.map { ($0, "interfaces.\(entry.name)") }
        }
        named += views.compactMap { view in
            view.value.outputInterface.map { ($0, "views.\(view.name).oif") }
        }
        guard mdns.isEnabled else { return named }
        named += mdns.interfaces.compactMap(\.literal).map { ($0, "mdns.interfaces") }
        named += mdns.advertised.flatMap(\.interfaces).map { ($0, "mdns.advertise.interfaces") }
        return named
    }

    /// A sentence for each interface that settings name and that does not exist, in the order of the settings.
    func missingInterfaces(of core: EngineCore) -> [String] {
        // Before the first reading no interface is known.
        guard !core.state.links.isEmpty else { return [] }
        var keys: [String: [String]] = [:]
        var names: [String] = []
        for (name, key) in namedInterfaces where core.state.link(named: name) == nil {
            if keys[name] == nil { names.append(name) }
            if keys[name]?.contains(key) != true { keys[name, default: []].append(key) }
        }
        return names.map { "there is no interface \($0) (\((keys[$0] ?? []).joined(separator: ", ")))" }
    }

    /// The interfaces on which services are looked for.
    func multicastInterfaces(of core: EngineCore) -> [MulticastInterface] {
        core.multicastInterfaces { link in
            mdns.interfaces.isEmpty || mdns.interfaces.contains { link.names.contains(where: $0.matches) }
        }
    }
}
