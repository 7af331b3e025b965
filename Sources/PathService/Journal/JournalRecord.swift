// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import EventHub
internal import OrderedJSON

struct JournalRecord {
    /// Names and values in their order; a name has capital letters, digits and underscores.
    let fields: [(name: String, value: String)]

    /// An event, to be found by `journalctl NWPATH_EVENT=path.changed` and the like.
    init(_ event: Event) {
        var fields = [
            ("MESSAGE", event.message),
            ("MESSAGE_ID", Self.identifier(of: event.name)),
            ("PRIORITY", event.severity.syslogPriority),
            ("SYSLOG_IDENTIFIER", "nwpath"),
            ("NWPATH_EVENT", event.name.rawValue),
            ("NWPATH_SEQ", "\(event.sequence)"),
            ("NWPATH_STREAM", "\(event.stream)"),
        ]
        let record = try? JSONValue(parsing: Array(event.json))
        if let interface = record?["interface"]?["name"]?.string { fields.append(("NWPATH_INTERFACE", interface)) }
        if let monitor = record?["monitor"]?.string { fields.append(("NWPATH_MONITOR", monitor)) }
        self.fields = fields
    }

    /// What is sent: `NAME=value` a line, or a name, the length and the value where the value has lines itself.
    ///
    /// Source: systemd's JOURNAL_NATIVE_PROTOCOL.md.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        for (name, value) in fields {
            bytes += name.utf8
            if value.utf8.contains(0x0A) {
                bytes.append(0x0A)
                let length = UInt64(value.utf8.count)
                bytes += (0..<8).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) }
            } else {
                bytes.append(0x3D)
            }
            bytes += value.utf8
            bytes.append(0x0A)
        }
        return bytes
    }

    /// The `MESSAGE_ID` of a kind of event, the same in every version: a hash of its name (FNV-1a) in the form of a
    /// random UUID, as sd-id128(3) wants it.
    static func identifier(of name: EventName) -> String {
        var hash: UInt128 = 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D
        for byte in "nwpath.event/1 \(name.rawValue)".utf8 {
            hash = (hash ^ UInt128(byte)) &* 0x0000_0000_0100_0000_0000_0000_0000_013B
        }
        let version: UInt128 = 0xF << 76
        let variant: UInt128 = 0x3 << 62
        hash = hash & ~(version | variant) | 0x4 << 76 | 0x2 << 62
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 32 - digits.count) + digits
    }
}

extension Severity {
    /// The priority of syslog(3), in digits.
    fileprivate var syslogPriority: String {
        switch self {
        case .debug: "7"
        case .info: "6"
        case .warning: "4"
        case .error: "3"
        }
    }
}
