// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import PathModel

/// Asks systemd-resolved for the servers behind its stub (rule S35).
public final class ResolvedProvider {
    /// Something changed; called on the loop's thread.
    public var onChange: () -> Void = {}
    public var health: ProviderHealth { mirror.health }

    private let mirror: ObjectMirror
    private let names: InterfaceNames

    /// Prepares to ask over `connection`.
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
        mirror.onChange = { [weak self] in self?.onChange() }
    }

    /// The servers behind the stub; `nil` when they are not known.
    public var upstream: [DNSServer]? {
        mirror.objects[ResolvedReader.path, ResolvedReader.interface].flatMap {
            ResolvedReader.servers($0, names: names)
        }
    }

    public func start() { mirror.start() }
    public func stop() { mirror.stop() }
    /// Asks anew; the service does not announce every change of its servers.
    public func refresh() { mirror.reload() }
}
