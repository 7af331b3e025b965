// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire
internal import LinuxIO
internal import MulticastDNS
internal import OrderedJSON

/// The history of services as lines of JSON: a header, then one service a line.
///
/// A line stands for itself, so what a torn write left is read as far as it goes.
enum ServiceHistoryFormat {
    /// The value of `schema` in the header.
    static let schema = "nwpath.services/1"
    /// A file that is longer was not written by this program.
    static let longestFile = 8 << 20

    struct Reading: Equatable {
        var entries: [ServiceHistory.Key: ServiceHistory.Entry] = [:]
        /// Lines that say nothing, such as one that was torn.
        var badLines = 0
    }

    /// The first line, with its line feed.
    static func header(at time: WallTime) -> [UInt8] {
        var object = JSONObject()
        object["schema"] = .string(schema)
        object["time"] = .string("\(time)")
        return line(object)
    }

    /// One service, with its line feed.
    static func line(_ key: ServiceHistory.Key, _ entry: ServiceHistory.Entry) -> [UInt8] {
        var object = JSONObject()
        object["instance"] = .string("\(key.instance)")
        object["interface"] = .string(key.interface)
        object["first_seen"] = .string("\(entry.firstSeen)")
        object["last_seen"] = .string("\(entry.lastSeen)")
        object["appearances"] = .integer(Int64(entry.appearances))
        if let removal = entry.removal { object["removed"] = .string(removal.rawValue) }
        return line(object)
    }

    /// Reads a whole file.
    /// - Returns: `nil` when it does not begin with the header: it is somebody else's.
    static func read(_ bytes: [UInt8]) -> Reading? {
        let lines = bytes.split(separator: 0x0A)
        guard let first = lines.first, let header = try? JSONValue(parsing: first),
            header["schema"]?.string == schema
        else { return nil }
        var reading = Reading()
        for line in lines.dropFirst() {
            guard reading.entries.count < ServiceHistory.capacity * 2, let (key, entry) = parse(line) else {
                reading.badLines += 1
                continue
            }
            reading.entries[key] = entry
        }
        return reading
    }

    private static func parse(_ line: ArraySlice<UInt8>) -> (ServiceHistory.Key, ServiceHistory.Entry)? {
        guard let value = try? JSONValue(parsing: line),
            let instance = value["instance"]?.string.flatMap({ DomainName($0) }), instance.labelCount >= 4,
            let interface = value["interface"]?.string, (1...15).contains(interface.utf8.count),
            let first = value["first_seen"]?.string.flatMap({ WallTime($0) }),
            let last = value["last_seen"]?.string.flatMap({ WallTime($0) }), first <= last
        else { return nil }
        var entry = ServiceHistory.Entry(firstSeen: first, lastSeen: last)
        entry.appearances = max(1, value["appearances"]?.int ?? 1)
        entry.removal = value["removed"]?.string.flatMap { RemovalReason(rawValue: $0) }
        return (ServiceHistory.Key(instance: instance, interface: interface), entry)
    }

    private static func line(_ object: JSONObject) -> [UInt8] {
        // Strings and whole numbers can always be encoded.
        (try? OrderedJSONEncoder().encode(object, terminator: 0x0A)) ?? []
    }
}
