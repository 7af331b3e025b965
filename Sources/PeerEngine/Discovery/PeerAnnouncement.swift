// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import DNSWire
internal import MulticastDNS

/// What a peer says about itself on the links; unproven until a TLS handshake (RFC 6763 section 6 for the form).
package struct PeerAnnouncement: Hashable, Sendable {
    package var key: PeerKey
    package var name: String
    /// The program's own type, such as `chat`.
    package var serviceType: String
    /// Changes when the program starts anew.
    package var boot: String
    package var info: [String: String]

    /// The type under which all peers are found; the program's own one is a subtype of it.
    package static let type = "_nwmc._tcp"
    static let version = "1"
    private static let reserved: Set<String> = ["v", "dn", "st", "fp", "b"]
    private static let prefix = "i."

    package init(key: PeerKey, name: String, serviceType: String, boot: String, info: [String: String] = [:]) {
        self.key = key
        self.name = name
        self.serviceType = serviceType
        self.boot = boot
        self.info = info
    }

    /// The subtype's label, such as `_chat`.
    static func subtype(_ serviceType: String) -> String { "_\(serviceType)" }

    /// The name whose PTR records name the peers of a type.
    static func pointer(_ serviceType: String) -> DomainName? {
        DomainName("\(subtype(serviceType))._sub.\(type).local")
    }

    /// The pairs of the TXT record, in order.
    package var text: [TextRecord.Entry] {
        let own = [("v", Self.version), ("dn", name), ("st", serviceType), ("fp", key.description), ("b", boot)]
        let others = info.sorted { $0.key < $1.key }.map { (Self.escape($0.key, $0.value), $0.value) }
        return (own + others).map { TextRecord.Entry(key: $0.0, value: Array($0.1.utf8)) }
    }

    /// Keys of programs have a mark before them, unless it would extend a pair of permitted length past 255 bytes.
    private static func escape(_ key: String, _ value: String) -> String {
        let length = prefix.utf8.count + key.utf8.count + 1 + value.utf8.count
        let isAmbiguous = reserved.contains(key.lowercased()) || key.lowercased().hasPrefix(prefix)
        return length <= 255 || isAmbiguous ? prefix + key : key
    }

    /// Reads a TXT record of anybody.
    /// - Returns: `nil` when it is not a peer's, or of a version that is not known.
    package init?(_ entries: [TextRecord.Entry]) {
        var own: [String: String] = [:]
        var info: [String: String] = [:]
        for entry in entries {
            guard let value = String(validating: entry.value ?? [], as: UTF8.self) else { continue }
            let key = entry.key.lowercased()
            if Self.reserved.contains(key) {
                own[key] = value
            } else {
                let isMarked = key.hasPrefix(Self.prefix)
                info[isMarked ? String(entry.key.dropFirst(Self.prefix.count)) : entry.key] = value
            }
        }
        guard own["v"] == Self.version, let key = own["fp"].flatMap({ PeerKey($0) }),
            let name = own["dn"], PeerRules.problem(ofName: name) == nil,
            let serviceType = own["st"], PeerRules.problem(ofServiceType: serviceType) == nil
        else { return nil }
        self.init(key: key, name: name, serviceType: serviceType, boot: own["b"] ?? "", info: info)
    }
}
