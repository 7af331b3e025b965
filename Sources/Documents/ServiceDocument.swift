// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import DNSWire
public import LinuxIO
public import MulticastDNS
public import OrderedJSON

/// A DNS-SD service as events, routes and commands show it.
public struct ServiceDocument: MemberDeclaring, Equatable, Sendable {
    /// By how much readings of two clocks may differ and still mean the same moment.
    public static let clockSlack = Duration.seconds(1)

    public var name: String
    public var type: String
    public var typeName: String
    public var domain: String
    public var interface: InterfaceReference
    public var host: String
    public var port: UInt16
    public var addresses: [String]
    public var txt: JSONValue
    public var txtMeanings: JSONValue
    public var txtRaw: [String]
    public var ttlSeconds: Int
    public var firstSeen: String
    public var lastSeen: String

    public static let members = Members<Self>.named("Service", "A service that multicast DNS shows.")
        .member("name", "What people call it; control characters and the like are escaped.") { $0.name }
        .member("type", "Such as `_ipp._tcp`.") { $0.type }
        .typeName { $0.typeName }
        .added("domain", "`local`.") { $0.domain }
        .added("interface") { $0.interface }
        .added("host", "The host, such as `printer.local`.") { $0.host }
        .added("port", as: .integer(from: 0, to: 65535)) { Int($0.port) }
        .added("addresses", "The host's addresses on this link, link-local ones with their scope.") { $0.addresses }
        .added(
            "txt",
            as: .map(of: .text.orNull),
            "The pairs of the TXT record; `null` for a key without `=`, "
                + "hexadecimal digits for a value that is not UTF-8."
        ) { $0.txt }
        .added(
            "txt_meanings",
            as: .map(of: .text),
            "What pairs of the TXT record mean, by their keys, such as `model` or `category: light`; "
                + "unknown keys are left out."
        ) { $0.txtMeanings }
        .added("txt_raw", "The strings of the TXT record as they came, escaped like names.") { $0.txtRaw }
        .added("ttl_seconds", "The lifetime of the record that announced it.") { $0.ttlSeconds }
        .added("first_seen", as: .time, "When it was first seen, possibly before a restart.") { $0.firstSeen }
        .added("last_seen", as: .time, "When it was last seen.") { $0.lastSeen }

    /// Shows a service; its moments since boot become moments of the calendar by `clock`.
    ///
    /// `earlier` is when it was first heard of as far as a history knows.
    public init(_ service: Service, clock: some TimeSource, firstSeen earlier: WallTime? = nil) {
        name = service.name
        type = service.type
        typeName = ServiceTypeNames.name(of: service.type)
        domain = service.domain
        interface = InterfaceReference(named: service.interface)
        host = service.host
        port = service.port
        addresses = service.addresses.map { "\($0)" }
        txt = Self.pairs(service.text)
        txtMeanings = Self.meanings(service.text, of: service.type)
        txtRaw = service.rawText.map { SafeText.text(of: $0) }
        ttlSeconds = Int(service.timeToLive.components.seconds)
        let first = clock.calendar(at: service.firstSeen)
        // What lies between readings of two clocks does not make a history later.
        firstSeen = "\(earlier.map { $0 <= first + Self.clockSlack ? $0 : first } ?? first)"
        lastSeen = "\(clock.calendar(at: service.lastSeen))"
    }

    /// The pairs of a text as an object; a key without a value has `null`.
    public static func pairs(_ entries: [TextRecord.Entry]) -> JSONValue {
        var object = JSONObject()
        for entry in entries { object[entry.key] = entry.value.map { .string(text($0)) } ?? .null }
        return .object(object)
    }

    private static func meanings(_ entries: [TextRecord.Entry], of type: String) -> JSONValue {
        var object = JSONObject()
        for entry in entries {
            let meaning = TextKey.meaning(of: entry.key, value: entry.value.map(text), type: type)
            if let meaning { object[entry.key] = .string(meaning) }
        }
        return .object(object)
    }

    /// UTF-8 as it is; anything else as `hex:` and its digits.
    static func text(_ bytes: [UInt8]) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        return "hex:" + bytes.hexadecimal()
    }
}
