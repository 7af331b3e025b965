// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import DNSWire
internal import MulticastDNS

/// A DNS-SD service that the daemon offers to its neighbours.
public struct AdvertisedService: Hashable, Sendable {
    /// The instance name; `nil` is the machine's host name.
    public var name: String?
    /// The service type, such as `_http._tcp`.
    public var type = ""
    public var port = 0
    public var text: [TextRecord.Entry] = []
    /// Further names to be browsed by, such as `_printer`.
    public var subtypes: [String] = []
    /// The interfaces it is offered on; empty is all that are used.
    public var interfaces: [String] = []

    /// Whether the other one would be seen under the same name; letters of ASCII differ by nothing (rule N3).
    public func isNamed(as other: AdvertisedService) -> Bool {
        func normalized(_ text: String?) -> [UInt8]? {
            text?.utf8.map { (65...90).contains($0) ? $0 | 0x20 : $0 }
        }
        return normalized(name) == normalized(other.name) && normalized(type) == normalized(other.type)
    }
}

extension AdvertisedService: ConfigurationEntry {
    static let required = ["type", "port"]

    static let settings: [Setting<AdvertisedService>] = [
        Setting("name", \.name, ValueForm.instanceName.optional, "The instance name; the host name by default."),
        Setting("type", \.type, .serviceType, "What it is, such as _http._tcp."),
        Setting("port", \.port, .integer(1...65_535), "Its port."),
        Setting("txt", \.text, .textEntries, "Its TXT record, such as {path: /start}."),
        Setting("subtypes", \.subtypes, ValueForm.subtype.list(upTo: 32), "Further names to be browsed by."),
        Setting(
            "interfaces",
            \.interfaces,
            ValueForm.interface.list(upTo: 64),
            "Interfaces it is offered on; an empty list is all that take part."
        ),
    ]
}

extension ValueForm where Value == String {
    /// The name of a service: any text, in one label (rule N5).
    fileprivate static let instanceName = label("a name of 1 to 63 bytes without control characters")

    /// A subtype (rule N8).
    fileprivate static let subtype = label("a subtype such as _printer")

    /// A type that may be published (rule N7).
    fileprivate static let serviceType = ValueForm(
        scalar: "a service type such as _http._tcp",
        schema: ["type": "string", "pattern": "^_[A-Za-z0-9-]{1,15}\\._(tcp|udp)$"],
        parse: { (text) throws(Refusal) in
            guard (try? NameRules.serviceType(text)) != nil, !text.hasSuffix(".local") else {
                throw .unknownWord(nearest: NameRules.nearestServiceType(to: text))
            }
            return text
        },
        write: { $0.isEmpty ? nil : .text($0) }
    )

    private static func label(_ expectation: String) -> ValueForm {
        ValueForm(
            scalar: expectation,
            schema: ["type": "string", "minLength": 1, "maxLength": 63],
            parse: { (text) throws(Refusal) in
                let text = ComposedText.compose(text) ?? text
                guard (try? NameRules.checkLabel(Array(text.utf8), field: "")) != nil else { throw .malformed }
                return text
            },
            write: { .text($0) }
        )
    }
}

extension ValueForm where Value == [TextRecord.Entry] {
    private static let expectation = "a map of keys and texts such as {path: /start}"

    /// The pairs of a TXT record; a key without text is a flag (rule D7).
    fileprivate static let textEntries = ValueForm(
        expectation,
        schema: ["type": "object", "additionalProperties": ["type": ["string", "number", "boolean", "null"]]],
        write: { entries in
            .map(
                entries.map { entry in
                    .init(entry.key, entry.value.map { .text(String(decoding: $0, as: UTF8.self)) } ?? .null)
                }
            )
        },
        read: { node, path, findings in
            guard case .map(let pairs) = node.content else {
                findings.report(path, node, expected: expectation)
                return nil
            }
            var entries: [TextRecord.Entry] = []
            for pair in pairs {
                guard case .scalar(let text, _) = pair.value.content else {
                    findings.report(SectionReader.join(path, pair.key), pair.value, expected: "a text, or nothing")
                    return nil
                }
                entries.append(.init(key: pair.key, value: pair.value.isNull ? nil : Array(text.utf8)))
            }
            do {
                try NameRules.check(entries)
            } catch {
                findings.reportConflict(at: path, "is not a TXT record: \(error)")
                return nil
            }
            return entries
        }
    )
}
