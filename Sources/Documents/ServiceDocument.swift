// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import DNSWire
public import LinuxIO
public import MulticastDNS
public import OrderedJSON

/// A DNS-SD service as events, routes and commands show it.
public struct ServiceDocument: JSONObjectWritable, Equatable, Sendable {
    /// By how much readings of two clocks may differ and still mean the same moment.
    public static let clockSlack = Duration.seconds(1)

    public var name: String
    public var type: String
    /// The type in plain words, such as `Printer`; the type itself where there are none.
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

    public func write(to object: inout JSONObjectWriter) {
        object.write("name", name)
        object.write("type", type)
        object.write("type_name", typeName)
        object.write("domain", domain)
        object.write("interface", interface)
        object.write("host", host)
        object.write("port", Int(port))
        object.write("addresses", addresses)
        object.write("txt", txt)
        object.write("txt_meanings", txtMeanings)
        object.write("txt_raw", txtRaw)
        object.write("ttl_seconds", ttlSeconds)
        object.write("first_seen", firstSeen)
        object.write("last_seen", lastSeen)
    }

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

extension ServiceDocument {
    public static var form: Form {
        .named("Service", "A service that multicast DNS shows.")
            .member("name", .text, "What people call it; control characters and the like are escaped.")
            .member("type", .text, "Such as `_ipp._tcp`.")
            .typeName
            .added("domain", .text, "`local`.")
            .added("interface", InterfaceReference.form)
            .added("host", .text, "The host, such as `printer.local`.")
            .added("port", .integer(from: 0, to: 65535))
            .added(
                "addresses",
                .list(of: .text),
                "The host's addresses on this link, link-local ones with their scope."
            )
            .added(
                "txt",
                .map(of: .text.orNull),
                "The pairs of the TXT record; `null` for a key without `=`, "
                    + "hexadecimal digits for a value that is not UTF-8."
            )
            .added(
                "txt_meanings",
                .map(of: .text),
                "What pairs of the TXT record mean, by their keys, such as `model` or `category: light`; "
                    + "unknown keys are left out."
            )
            .added("txt_raw", .list(of: .text), "The strings of the TXT record as they came, escaped like names.")
            .added("ttl_seconds", .count, "The lifetime of the record that announced it.")
            .added("first_seen", .time, "When it was first seen, possibly before a restart.")
            .added("last_seen", .time, "When it was last seen.")
    }
}
