// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import PathModel

/// Reads ModemManager's objects (ModemManager's D-Bus reference).
struct ModemManagerReader {
    static let name = "org.freedesktop.ModemManager1"
    static let path = "/org/freedesktop/ModemManager1"
    static let modem = "org.freedesktop.ModemManager1.Modem"
    static let bearer = "org.freedesktop.ModemManager1.Bearer"

    /// MM_MODEM_CAPABILITY_IRIDIUM: the one indication of satellite access in ModemManager's published interface, whose
    /// access technologies have no bit for LTE or 5G by satellite (NTN).
    static let iridium = 1 << 5

    let objects: BusObjects

    var hasModem: Bool { !objects.all(Self.modem).isEmpty }

    /// The modems by the index of each interface that carries their packets.
    func modems(_ names: InterfaceNames) -> [Int: CellularFacts] {
        var facts: [Int: CellularFacts] = [:]
        for (_, properties) in objects.all(Self.modem) {
            let modem = Self.facts(of: properties)
            for interface in interfaces(of: properties) {
                if let index = names.index(interface) { facts[index] = modem }
            }
        }
        return facts
    }

    private static func facts(of properties: BusObjects.Properties) -> CellularFacts {
        // (percent, whether it was measured lately)
        let quality = properties["SignalQuality"]?.list?.first?.number
        let capabilities = properties["CurrentCapabilities"]?.number ?? 0
        return CellularFacts(
            signalQuality: quality.flatMap { (0...100).contains($0) ? $0 : nil },
            isSatellite: (0..<0xFFFF_FFFF).contains(capabilities) && capabilities & Self.iridium != 0
        )
    }

    /// The network ports of the modem (type 2, MM_MODEM_PORT_TYPE_NET) and the interfaces of its bearers.
    private func interfaces(of properties: BusObjects.Properties) -> Set<String> {
        var interfaces: Set<String> = []
        for port in (properties["Ports"]?.list ?? []).prefix(64) {
            guard let fields = port.list, fields.count == 2, fields[1].number == 2, let name = fields[0].text else {
                continue
            }
            interfaces.insert(name)
        }
        for path in (properties["Bearers"]?.list ?? []).prefix(16).compactMap(\.text) {
            guard let name = objects[path, Self.bearer]?["Interface"]?.text, !name.isEmpty else { continue }
            interfaces.insert(name)
        }
        return interfaces
    }
}

/// Follows ModemManager over D-Bus (rules S38, S39).
///
/// Confined to the loop's thread.
public final class ModemManagerProvider {
    /// Something changed; called on the loop's thread.
    public var onChange: () -> Void = {}
    public var health: ProviderHealth { mirror.health }

    private let mirror: ObjectMirror
    private let names: InterfaceNames

    /// Prepares to follow ModemManager over `connection`.
    public init(
        connection: BusConnection,
        names: InterfaceNames = .kernel,
        timing: ServiceTiming = ServiceTiming()
    ) {
        self.names = names
        typealias Reader = ModemManagerReader
        mirror = ObjectMirror(
            connection: connection,
            name: Reader.name,
            source: .objects(
                manager: Reader.path,
                checkPath: Reader.path,
                checkInterface: Reader.name,
                checkProperty: "Version"
            ),
            interfaces: [Reader.modem, Reader.bearer],
            timing: timing
        )
        mirror.onChange = { [weak self] in self?.onChange() }
    }

    /// The modems by interface index.
    public var modems: [Int: CellularFacts] { ModemManagerReader(objects: mirror.objects).modems(names) }
    public var hasModem: Bool { ModemManagerReader(objects: mirror.objects).hasModem }

    public func start() { mirror.start() }
    public func stop() { mirror.stop() }
    public func refresh() { mirror.reload() }
}
