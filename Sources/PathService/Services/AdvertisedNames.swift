// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire
internal import LinuxIO
internal import OrderedJSON

/// The names that were found free in place of others, kept in a file of the state directory (rule P12).
///
/// A machine that was `box-2` yesterday begins with that today, instead of disputing `box` with every start.
struct AdvertisedNames {
    static let fileName = "names.json"
    /// The value of `schema`.
    static let schema = "nwpath.names/1"
    private static let longestFile = 1 << 20

    private let file: StateFile
    /// Why the file could not be read or written the last time; `nil` when all is well.
    private(set) var problem: String?

    init(directory: String) { file = StateFile(path: directory + "/" + Self.fileName) }

    mutating func read() -> [DomainName: DomainName] {
        do throws(FileRefusal.Cause) {
            guard let bytes = try file.read(upTo: Self.longestFile) else { return [:] }
            if let names = Self.parse(bytes) { return names }
            problem = file.setAside(because: "was not a list of names")
        } catch {
            problem = "\(file.path) cannot be read (\(error)); names of earlier runs are lost"
        }
        return [:]
    }

    mutating func write(_ names: [DomainName: DomainName]) {
        do throws(FileRefusal.Cause) {
            try file.replace(with: Self.format(names))
            problem = nil
        } catch {
            problem = "\(file.path) cannot be written (\(error)); names chosen now are lost at the next start"
        }
    }

    static func format(_ names: [DomainName: DomainName]) -> [UInt8] {
        var object = JSONObject()
        object["schema"] = .string(schema)
        object["names"] = .array(
            names.sorted { $0.key < $1.key }.map { old, new in
                var pair = JSONObject()
                pair["wanted"] = .string("\(old)")
                pair["chosen"] = .string("\(new)")
                return .object(pair)
            }
        )
        // Strings can always be encoded.
        return (try? OrderedJSONEncoder().encode(object, terminator: 0x0A)) ?? []
    }

    /// Reads a whole file; pairs that say nothing are left out.
    /// - Returns: `nil` when it is somebody else's.
    static func parse(_ bytes: [UInt8]) -> [DomainName: DomainName]? {
        guard let value = try? JSONValue(parsing: bytes), value["schema"]?.string == schema else { return nil }
        let pairs = (value["names"]?.array ?? []).compactMap { pair -> (DomainName, DomainName)? in
            guard let wanted = pair["wanted"]?.string.flatMap({ DomainName($0) }),
                let chosen = pair["chosen"]?.string.flatMap({ DomainName($0) })
            else { return nil }
            return (wanted, chosen)
        }
        return Dictionary(pairs) { first, _ in first }
    }
}
