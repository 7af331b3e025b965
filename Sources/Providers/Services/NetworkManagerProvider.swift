// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import PathModel

/// Follows NetworkManager over D-Bus (rules S23, S35, S37).
///
/// Confined to the loop's thread. What NetworkManager says enriches a path; its absence, restart or hang leaves the
/// kernel's facts alone.
public final class NetworkManagerProvider {
    /// Something changed; called on the loop's thread.
    public var onChange: () -> Void = {}
    public var health: ProviderHealth { mirror.health }

    private let mirror: ObjectMirror
    private let names: InterfaceNames
    /// The type of each profile that was queried; an empty text while the answer is awaited or when there is none.
    private var profileTypes: [String: String] = [:]

    /// Prepares to follow NetworkManager over `connection`.
    public init(
        connection: BusConnection,
        names: InterfaceNames = .kernel,
        timing: ServiceTiming = ServiceTiming()
    ) {
        self.names = names
        typealias Reader = NetworkManagerReader
        mirror = ObjectMirror(
            connection: connection,
            name: Reader.name,
            source: .objects(
                manager: "/org/freedesktop",
                checkPath: Reader.path,
                checkInterface: Reader.name,
                checkProperty: "State"
            ),
            interfaces: [Reader.name, Reader.device, Reader.dhcp, Reader.dns],
            rules: ["interface='\(Reader.settings)',member='Updated'"],
            timing: timing
        )
        mirror.onChange = { [weak self] in self?.changed() }
        mirror.onSignal = { [weak self] signal in self?.receive(signal) }
    }

    public var isConnecting: Bool { reader.isConnecting }
    public var radios: RadioFacts { reader.radios }
    /// The devices by interface index.
    public var devices: [Int: DeviceFacts] { reader.devices(names) }
    /// The servers behind NetworkManager's own dnsmasq; `nil` when it runs none.
    public var upstream: [DNSServer]? { reader.upstream(names) }

    public func start() { mirror.start() }
    public func stop() { mirror.stop() }
    public func refresh() { mirror.reload() }

    private var reader: NetworkManagerReader {
        NetworkManagerReader(objects: mirror.objects, profileTypes: profileTypes)
    }

    private func changed() {
        queryProfiles()
        onChange()
    }

    /// Queries once the type of each profile that matters now; forgets the others.
    private func queryProfiles() {
        let wanted = reader.profilesInQuestion
        profileTypes = profileTypes.filter { wanted.contains($0.key) }
        guard mirror.health.state == .active else { return }
        for path in wanted.sorted() where profileTypes[path] == nil {
            profileTypes[path] = ""
            mirror.service.call(path, NetworkManagerReader.settings, "GetSettings") { [weak self] result in
                self?.learn(path, result)
            }
        }
    }

    private func learn(_ path: String, _ result: Result<[BusValue], ProviderError>) {
        guard profileTypes[path] != nil else { return }
        switch result {
        case .success(let values):
            let type = values.first?.table?["connection"]?.table?["type"]?.text ?? ""
            guard profileTypes.updateValue(type, forKey: path) != type else { return }
            onChange()
        case .failure(.refused):
            // Not ours to see, or gone: it stays without a type.
            return
        case .failure:
            // Queried again with the next change.
            profileTypes[path] = nil
        }
    }

    private func receive(_ signal: BusSignal) {
        guard signal.interface == NetworkManagerReader.settings, signal.member == "Updated" else { return }
        guard profileTypes.removeValue(forKey: signal.path) != nil else { return }
        queryProfiles()
    }
}
