// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import PathModel

/// Reads from systemd-resolved the servers behind its stub, and which of them are for some domains only (rule S35).
public final class ResolvedProvider {
    /// Something changed; called on the loop's thread.
    public var onChange: () -> Void = {}
    public var health: ProviderHealth { mirror.health }

    private let mirror: ObjectMirror
    private let names: InterfaceNames
    /// What links are used for, by interface index; those whose answer has not come are missing.
    private var uses: [Int: ResolvedReader.LinkUse] = [:]
    private var generation = 0
    /// For which settings the current server was to be chosen: once for each, and once more after ``refresh()``.
    private var chosenFor: ResolvedReader.Settings?

    /// Prepares to read over `connection`.
    public init(
        connection: BusConnection,
        names: InterfaceNames = .kernel,
        timing: ServiceTiming = ServiceTiming()
    ) {
        self.names = names
        mirror = ObjectMirror(
            connection: connection,
            name: ResolvedReader.name,
            source: .properties(path: ResolvedReader.path, interface: ResolvedReader.interface),
            interfaces: [ResolvedReader.interface],
            timing: timing
        )
        mirror.onChange = { [weak self] in
            self?.readLinks()
            self?.onChange()
        }
    }

    private var properties: BusObjects.Properties? {
        mirror.objects[ResolvedReader.path, ResolvedReader.interface]
    }

    /// The servers behind the stub; `nil` when they are not known.
    public var upstream: [DNSServer]? {
        properties.flatMap { ResolvedReader.servers($0, uses: uses, names: names) }
    }

    public func start() { mirror.start() }
    public func stop() {
        generation += 1
        mirror.stop()
    }

    /// Reads everything again; the service does not announce every change of its servers.
    public func refresh() {
        chosenFor = nil
        mirror.reload()
        readLinks()
    }

    /// Reads what the links with servers are used for, which the Manager does not have, and whose change is not announced.
    private func readLinks() {
        generation += 1
        let links = properties.map(ResolvedReader.links) ?? []
        uses = uses.filter { links.contains($0.key) }
        guard mirror.health.state == .active else { return }
        let asOf = generation
        for index in links.sorted() {
            mirror.service.call(
                ResolvedReader.path(ofLink: index),
                "org.freedesktop.DBus.Properties",
                "GetAll",
                [ResolvedReader.linkInterface]
            ) { [weak self] result in
                guard let self, generation == asOf, case .success(let values) = result else { return }
                let read = values.first?.table.flatMap(ResolvedReader.use)
                guard read != uses[index] else { return }
                uses[index] = read
                onChange()
                chooseServer()
            }
        }
        chooseServer()
    }

    /// Makes systemd-resolved choose its current server where that says whether fallback servers are used: it does so with the
    /// first query of a program, and with one that must not use the network.
    private func chooseServer() {
        guard mirror.health.state == .active, let properties,
            ResolvedReader.isUndecided(properties, uses: uses, names: names)
        else { return chosenFor = nil }
        // The call itself changes other properties, such as counters.
        let settings = ResolvedReader.Settings(properties, uses: uses)
        guard settings != chosenFor else { return }
        chosenFor = settings
        let (path, interface) = (ResolvedReader.path, ResolvedReader.interface)
        // It fails in any case.
        mirror.service.call(path, interface, "ResolveHostname", values: ResolvedReader.lookupWithoutNetwork) {
            [weak self] _ in
            guard let self, chosenFor == settings else { return }
            mirror.reload()
        }
    }
}
