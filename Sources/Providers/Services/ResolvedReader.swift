// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import PathModel

/// Reads systemd-resolved's Manager properties (org.freedesktop.resolve1(5)).
enum ResolvedReader {
    static let name = "org.freedesktop.resolve1"
    static let path = "/org/freedesktop/resolve1"
    static let interface = "org.freedesktop.resolve1.Manager"
    private static let limit = 256

    /// The servers behind the stub, global and per link; the fallback ones only when there are no others.
    ///
    /// - Returns: `nil` when the properties do not name servers in any known way.
    static func servers(_ properties: BusObjects.Properties, names: InterfaceNames) -> [DNSServer]? {
        guard let main = list(properties, "DNS", names) else { return nil }
        return main.isEmpty ? list(properties, "FallbackDNS", names) ?? [] : main
    }

    private static func list(
        _ properties: BusObjects.Properties,
        _ key: String,
        _ names: InterfaceNames
    ) -> [DNSServer]? {
        // DNSEx: (interface, family, address, port, name); DNS lacks the last two.
        guard let entries = (properties[key + "Ex"] ?? properties[key])?.list else { return nil }
        var servers: [DNSServer] = []
        for entry in entries.prefix(limit) {
            guard let fields = entry.list, fields.count >= 3, let index = fields[0].number,
                let bytes = fields[2].bytes, let address = IPAddress(bytes: bytes.span)
            else { continue }
            let port = fields.count > 3 ? fields[3].number.flatMap { UInt16(exactly: $0) } : nil
            let server = DNSServer(
                ScopedAddress(address, scope: index > 0 ? names.name(index) : nil),
                port: port == 0 || port == 53 ? nil : port,
                interfaceIndex: index > 0 ? index : nil
            )
            if !servers.contains(server) { servers.append(server) }
        }
        return servers
    }
}
