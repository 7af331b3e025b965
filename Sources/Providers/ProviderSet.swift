// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import LinuxIO
public import Netlink
public import PathModel

/// All providers together: one value of facts, one closure, one health report.
///
/// Confined to the loop's thread. Nothing here waits for another process, and nothing a provider does can keep
/// ``start()``, ``stop()`` or the others from working (rule S51).
public final class ProviderSet {
    public enum Name: String, Hashable, Sendable, CaseIterable {
        case resolvConf = "resolv.conf"
        case resolved = "systemd-resolved"
        case networkManager = "NetworkManager"
        case modemManager = "ModemManager"
        case nl80211 = "nl80211"
        case ethtool = "ethtool"
        case rfkill = "rfkill"
        case logind = "logind"
        case leases = "leases"
    }

    /// What to use and where to find it.
    public struct Options: Sendable {
        public var enabled: Set<Name> = Set(Name.allCases)
        public var busAddress = BusConnection.systemAddress
        public var busTiming = BusConnection.Timing()
        public var serviceTiming = ServiceTiming()
        /// The file the C library reads.
        public var resolvConf = "/etc/resolv.conf"
        /// Where systemd-resolved writes when its servers change.
        public var resolvedDirectory = "/run/systemd/resolve"
        public var networkdLeases = "/run/systemd/netif/leases"
        public var dhclientLeases = "/var/lib/dhcp"
        public var rfkillDevice = "/dev/rfkill"
        /// The radio switches where there is no device.
        public var rfkillDirectory = "/sys/class/rfkill"
        /// How long facts must be stable before they are published.
        public var settle: Duration = .milliseconds(20)

        public init() {}
    }

    /// The merged facts changed; `cause` names the provider that changed last.
    public var onChange: (_ facts: ProviderFacts, _ cause: String) -> Void = { _, _ in }
    public var onResume: () -> Void = {}
    /// The merged facts as last published.
    public private(set) var facts = ProviderFacts()

    private let options: Options
    private let servers: LocalServerMonitor
    let connection: BusConnection
    private let resolver: ResolverConfigurationMonitor
    private let resolved: ResolvedProvider
    private let manager: NetworkManagerProvider
    private let modems: ModemManagerProvider
    private let wireless: WirelessProvider
    private let wired: WiredProvider
    private let virtual: VirtualLinkProvider
    private let switches: RadioSwitchProvider
    private let sleep: LoginSleepProvider
    private let leases: LeaseMonitor
    private let loop: EventLoop
    private var cause = ""
    private var isRunning = false
    private lazy var debouncer = Debouncer(loop: loop, quiet: options.settle) { [weak self] in self?.publish() }

    /// Prepares the providers.
    ///
    /// - Parameters:
    ///   - loop: Serves them all.
    ///   - options: What to use and where to find it.
    ///   - names: Converts interface names to indexes.
    ///   - localServers: Reads what is known of the name servers at addresses of this machine.
    ///   - wired: Which wired interfaces there are; called at every refresh.
    ///   - links: All links by index; read at every refresh.
    public init(
        loop: EventLoop,
        options: Options = Options(),
        names: InterfaceNames = .kernel,
        localServers: @escaping (Set<IPAddress>, Listener.Transport) -> LocalServerFacts = {
            LocalServerFacts(of: $0, over: $1)
        },
        wired: @escaping () -> WiredLinks = { WiredLinks() },
        links: @escaping () -> [Int: Link] = { [:] }
    ) {
        self.loop = loop
        self.options = options
        servers = LocalServerMonitor(loop: loop, read: localServers)
        let timing = options.serviceTiming
        connection = BusConnection(loop: loop, address: options.busAddress, timing: options.busTiming)
        resolver = ResolverConfigurationMonitor(
            loop: loop,
            path: options.resolvConf,
            directories: [options.resolvedDirectory, options.resolvedDirectory + "/netif"]
        )
        resolved = ResolvedProvider(connection: connection, names: names, timing: timing)
        manager = NetworkManagerProvider(connection: connection, names: names, timing: timing)
        modems = ModemManagerProvider(connection: connection, names: names, timing: timing)
        wireless = WirelessProvider(loop: loop)
        self.wired = WiredProvider(loop: loop, links: wired)
        virtual = VirtualLinkProvider(loop: loop, links: links)
        switches = RadioSwitchProvider(loop: loop, device: options.rfkillDevice, sysfs: options.rfkillDirectory)
        sleep = LoginSleepProvider(connection: connection)
        leases = LeaseMonitor(
            loop: loop,
            networkd: options.networkdLeases,
            dhclient: options.dhclientLeases,
            names: names
        )
        connectClosures()
    }

    /// Starts the enabled providers; what files and the kernel say is in ``facts`` when this returns.
    public func start() {
        guard !isRunning else { return }
        isRunning = true
        if isEnabled(.resolvConf) { resolver.start() }
        if isEnabled(.leases) { leases.start() }
        if isEnabled(.rfkill) { switches.start() }
        if isEnabled(.nl80211) { wireless.start() }
        if isEnabled(.ethtool) { wired.start() }
        if isEnabled(.resolved) { resolved.start() }
        if isEnabled(.networkManager) { manager.start() }
        if isEnabled(.modemManager) { modems.start() }
        if isEnabled(.logind) { sleep.start() }
        let services: [Name] = [.resolved, .networkManager, .modemManager, .logind]
        if services.contains(where: isEnabled) { connection.start() }
        facts = merged
    }

    /// Stops all providers; a stopped set is not started again.
    public func stop() {
        guard isRunning else { return }
        isRunning = false
        debouncer.cancel()
        resolver.stop()
        servers.stop()
        leases.stop()
        switches.stop()
        wireless.stop()
        wired.stop()
        virtual.stop()
        resolved.stop()
        manager.stop()
        modems.stop()
        connection.stop()
    }

    /// Queries every provider anew, such as after a resume or at an audit; answers come through ``onChange``.
    public func refresh() {
        guard isRunning else { return }
        if isEnabled(.resolvConf) { resolver.refresh() }
        servers.refresh()
        if isEnabled(.leases) { leases.refresh() }
        if isEnabled(.rfkill) { switches.refresh() }
        wireless.refresh()
        wired.refresh()
        virtual.refresh()
        resolved.refresh()
        manager.refresh()
        modems.refresh()
        note(.resolvConf)
    }

    /// Queries wired interfaces, and has the answers in ``facts`` when this returns: for the first path, which
    /// needs links to be read before it and should not be followed by another one that only knows more.
    public func measureWires() {
        guard isRunning else { return }
        wired.refresh()
        virtual.refresh()
        facts = merged
    }

    /// Notes that a Wi-Fi interface was set up or down, associated, authorized or lost its access point.
    public func noteWireless(_ index: Int, isUp: Bool) {
        guard isRunning, isEnabled(.nl80211) else { return }
        if isUp { wireless.refreshSoon() } else { wireless.setDown(index) }
    }

    /// Whether Wi-Fi signals are sampled often, as while a stream is open (rule S39).
    public var samplesSignals: Bool {
        get { wireless.isSampling }
        set { wireless.isSampling = newValue }
    }

    /// What Wi-Fi clients counted, by interface index, as of the last sample of the signal.
    public var radioCounters: [Int: RadioCounters] { wireless.counters }

    /// Addresses of this machine changed: a name server at one of them is of another machine now, or of this one, and a
    /// stub may use another link.
    public func noteAddresses() {
        guard isRunning else { return }
        servers.refresh()
        // systemd-resolved does not use a link without an address, and does not announce that.
        resolved.refresh()
    }

    /// A link changed: a team may have lost the port that it sends by.
    public func noteLinks() {
        if isRunning { virtual.noteLinks() }
    }

    public var health: [Name: ProviderHealth] {
        let all: [Name: ProviderHealth] = [
            .resolvConf: resolver.health, .resolved: resolved.health, .networkManager: manager.health,
            .modemManager: modems.health, .nl80211: wireless.health, .rfkill: switches.health,
            .logind: sleep.health, .leases: leases.health, .ethtool: wired.health,
        ]
        return Dictionary(
            uniqueKeysWithValues: all.map { name, health in
                (name, isEnabled(name) ? health : ProviderHealth(state: .disabled))
            }
        )
    }

    /// What each provider says now.
    public var snapshot: ProviderSnapshot {
        var snapshot = ProviderSnapshot()
        snapshot.resolver = resolver.configuration
        snapshot.resolved = resolved.upstream
        snapshot.managerUpstream = manager.upstream
        snapshot.devices = manager.devices
        snapshot.isConnecting = manager.isConnecting
        snapshot.managerRadios = manager.radios
        snapshot.radios = switches.facts
        snapshot.wireless = wireless.interfaces
        snapshot.wired = wired.interfaces
        snapshot.tunnels = virtual.tunnels
        snapshot.teams = virtual.teams
        snapshot.cellular = modems.modems
        snapshot.hasModem = modems.hasModem
        snapshot.meteredLeases = leases.metered
        return snapshot
    }

    private var merged: ProviderFacts {
        snapshot.merged { [servers, resolver] addresses in
            servers.follow(addresses, over: resolver.configuration.usesTCP ? .tcp : .udp)
            return servers.served
        }
    }

    private func isEnabled(_ name: Name) -> Bool { options.enabled.contains(name) }

    private func connectClosures() {
        servers.onChange = { [weak self] in self?.note(.resolvConf) }
        resolver.onChange = { [weak self] in self?.note(.resolvConf) }
        // systemd-resolved writes its files whenever its servers or the settings of a link change, and does not announce it.
        resolver.onEvent = { [weak self] in self?.resolved.refresh() }
        resolved.onChange = { [weak self] in self?.note(.resolved) }
        manager.onChange = { [weak self] in self?.note(.networkManager) }
        modems.onChange = { [weak self] in self?.note(.modemManager) }
        wireless.onChange = { [weak self] in self?.note(.nl80211) }
        wired.onChange = { [weak self] in self?.note(.ethtool) }
        virtual.onChange = { [weak self] in self?.note(.ethtool) }
        switches.onChange = { [weak self] in self?.note(.rfkill) }
        leases.onChange = { [weak self] in self?.note(.leases) }
        sleep.onResume = { [weak self] in self?.onResume() }
    }

    private func note(_ name: Name) {
        guard isRunning else { return }
        cause = name.rawValue
        debouncer.trigger()
    }

    private func publish() {
        let now = merged
        guard now != facts else { return }
        facts = now
        onChange(now, cause)
    }
}
