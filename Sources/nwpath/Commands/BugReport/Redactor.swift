// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import OrderedJSON

/// Takes out of a document what its reader need not know.
///
/// Secrets always go. Unless everything is wanted, hardware addresses lose their last half, public addresses all but
/// their first parts, URLs all but their scheme, and names of services, hosts, Wi-Fi networks and search domains become tags: the same name has the same tag in one report, and
/// another one in the next.
struct Redactor {
    /// Stands where a secret was.
    static let removed = "(removed)"
    private static let secrets = ["token", "password", "passphrase", "secret", "authorization", "private_key"]

    /// Lists of names.
    private static let lists = ["search", "hosts"]
    /// What is asked: a name, perhaps with a port.
    private static let targets = ["target", "server", "wildcard", "nx_zone", "big_txt"]

    /// Whether addresses and names stay.
    let isFull: Bool
    /// Makes tags differ between reports.
    let salt: UInt64
    /// By their first byte, the longest first.
    private var names: [UInt8: [[UInt8]]] = [:]

    init(isFull: Bool, salt: UInt64) {
        self.isFull = isFull
        self.salt = salt
    }

    // MARK: - Names

    /// Learns the names that a document shows, so that they are found in sentences as well.
    mutating func learn(_ value: JSONValue) {
        switch value {
        case .array(let items): for item in items { learn(item) }
        case .object(let object):
            let isService = Self.isService(value)
            for member in object.members {
                if Self.isName(member.key, isService), let name = member.value.string {
                    learn(name: name)
                } else if Self.lists.contains(member.key), let items = member.value.array {
                    // One word, such as "lan", would be found where it names no domain.
                    for name in items.compactMap(\.string) where name.contains(".") { learn(name: name) }
                } else if member.key == "names", let items = member.value.array {
                    // Names of services with their types, such as `Printer (_ipp._tcp)`.
                    for label in items.compactMap(\.string) {
                        guard let end = label.lastIndex(of: "("), end > label.startIndex else { continue }
                        learn(name: String(label[..<label.index(before: end)]))
                    }
                } else if Self.targets.contains(member.key), let target = member.value.string {
                    learn(target: target)
                } else {
                    learn(member.value)
                }
            }
        case .string(let text):
            // A watched service is TYPE/NAME.
            let parts = text.split(separator: "/", maxSplits: 1)
            if parts.count == 2, parts[0].hasPrefix("_"), parts[0].contains(".") {
                learn(name: String(parts[1]))
            } else if URLMask.isPresent(in: text) {
                learn(target: text)
            } else if let network = Self.refusingNetwork(in: text) {
                learn(name: network)
            }
        default: break
        }
    }

    /// The Wi-Fi network that a reason says refuses this machine, which no member has.
    private static func refusingNetwork(in text: String) -> String? {
        let (start, end) = (" is rejected by ", ": wrong passphrase or credentials")
        guard let stop = text.utf8.indices.last(where: { text.utf8[$0...].starts(with: end.utf8) }),
            let begin = text.utf8.indices.first(where: { text.utf8[$0...].starts(with: start.utf8) }),
            let first = text.utf8.index(begin, offsetBy: start.utf8.count, limitedBy: stop), first < stop
        else { return nil }
        let network = String(text[first..<stop])
        return network == "the access point" ? nil : network
    }

    /// Learns the hosts of URLs, or the host of a target.
    private mutating func learn(target: String) {
        let hosts = URLMask.isPresent(in: target) ? URLMask.hosts(in: target) : [Self.host(of: target)]
        for host in hosts where host.contains(".") { learn(name: host) }
    }

    /// A target without its port.
    private static func host(of target: String) -> String {
        guard let colon = target.lastIndex(of: ":"), UInt16(target[target.index(after: colon)...]) != nil else {
            return target
        }
        return String(target[..<colon])
    }

    private mutating func learn(name: String) {
        guard !Self.isPublic(name) else { return }
        // Very short names would be found inside of words.
        let short = name.hasSuffix(".local") ? String(name.dropLast(6)) : name
        for text in [name, short, Self.label(name)] where text.utf8.count > 2 {
            let bytes = Array(text.utf8)
            var known = names[bytes[0]] ?? []
            guard !known.contains(bytes) else { continue }
            known.insert(bytes, at: known.firstIndex { $0.count < bytes.count } ?? known.endIndex)
            names[bytes[0]] = known
        }
    }

    /// A name as a label of a metric has it.
    private static func label(_ name: String) -> String {
        name.reduce(into: "") { text, letter in text += ["\\", "\""].contains(letter) ? "\\\(letter)" : "\(letter)" }
    }

    private static func isName(_ key: String, _ isService: Bool) -> Bool {
        key == "host" || key == "ssid" || (isService && (key == "name" || key == "instance"))
    }

    private static func isService(_ value: JSONValue) -> Bool {
        let type = value["type"]?.string ?? value["service_type"]?.string ?? ""
        return type.hasPrefix("_")
    }

    /// Whether everybody knows the name, or it is none.
    private static func isPublic(_ name: String) -> Bool {
        name.isEmpty || ["localhost", "gateway", ".", "~."].contains(name) || IPAddress(name) != nil
    }

    /// Whether a key is one of the documents' own, rather than an address or a name.
    private static func isIdentifier(_ key: String) -> Bool { key.utf8.allSatisfy(isWord) }

    /// Such as `name-3f9a1c2b`.
    func tag(_ name: some Sequence<UInt8>) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325 ^ salt
        for byte in name { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        let digits = String((hash ^ (hash >> 32)) & 0xFFFF_FFFF, radix: 16)
        return "name-" + String(repeating: "0", count: 8 - digits.count) + digits
    }

    // MARK: - Documents

    /// The document without what is not to be seen.
    func redact(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let items): return .array(items.map(redact))
        case .object(let object):
            let isService = Self.isService(value)
            var result = JSONObject()
            for member in object.members {
                let key = member.key.lowercased()
                if Self.secrets.contains(where: { Self.holds(key, $0) }) || !isFull && key == "ssid_hex" {
                    result[member.key] = .string(Self.removed)
                } else if !isFull, isService, key.hasPrefix("txt") {
                    result[member.key] = .string(Self.removed)
                } else if !isFull, Self.isName(key, isService), let name = member.value.string {
                    result[member.key] = .string(self.name(name))
                } else if !isFull, Self.lists.contains(key), let items = member.value.array {
                    result[member.key] = .array(items.map { $0.string.map { .string(self.name($0)) } ?? redact($0) })
                } else if !isFull, Self.targets.contains(key), let target = member.value.string {
                    result[member.key] = .string(self.target(target))
                } else {
                    result[isFull || Self.isIdentifier(key) ? member.key : text(member.key)] = redact(member.value)
                }
            }
            return .object(result)
        case .string(let string): return .string(text(string))
        default: return value
        }
    }

    /// A name without what is not to be seen; one that is too short to be learned is a tag as well.
    private func name(_ name: String) -> String {
        let masked = text(name)
        return masked == name && !Self.isPublic(name) ? tag(name.utf8) : masked
    }

    private func target(_ target: String) -> String {
        let masked = text(target)
        let host = Self.host(of: target)
        // Neither an address, which may have an interface, nor brackets.
        guard masked == target, !host.contains(where: { ":[%".contains($0) }), !Self.isPublic(host) else {
            return masked
        }
        return tag(host.utf8) + target.dropFirst(host.count)
    }

    /// A text without what is not to be seen.
    func text(_ text: String) -> String {
        let text = URLMask.mask(text, isFull: isFull)
        guard !isFull else { return text }
        let named = withoutNames(Array(text.utf8))
        var result = ""
        var run = ""
        for letter in String(decoding: named, as: UTF8.self) {
            if letter.isHexDigit || letter == ":" || letter == "." {
                run.append(letter)
            } else {
                result += mask(run)
                result.append(letter)
                run = ""
            }
        }
        return result + mask(run)
    }

    private func withoutNames(_ text: [UInt8]) -> [UInt8] {
        guard !names.isEmpty else { return text }
        var result: [UInt8] = []
        var rest = text[...]
        while let byte = rest.first {
            let isInside = result.last.map(Self.isWord) ?? false
            let name =
                isInside
                ? nil
                : names[byte]?.first { name in
                    rest.starts(with: name) && !(rest.dropFirst(name.count).first.map(Self.isWord) ?? false)
                }
            if let name {
                result += Array(tag(name).utf8)
                rest = rest.dropFirst(name.count)
            } else {
                result.append(byte)
                rest = rest.dropFirst()
            }
        }
        return result
    }

    /// A letter of ASCII, a digit or an underscore: a name does not begin or end between two of them.
    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x5F, 0x61...0x7A: true
        default: false
        }
    }

    private static func holds(_ text: String, _ word: String) -> Bool {
        var rest = text.utf8[...]
        while !rest.isEmpty {
            if rest.starts(with: word.utf8) { return true }
            rest = rest.dropFirst()
        }
        return false
    }

    // MARK: - Addresses

    /// A run of hexadecimal digits, colons and full stops, masked when it is an address, perhaps with a port.
    private func mask(_ run: String) -> String {
        guard run.count > 2 else { return run }
        let body = String(run.reversed().drop { $0 == "." || $0 == ":" }.reversed())
        let end = run.dropFirst(body.count)
        if let hardware = Self.hardware(body) { return hardware + end }
        // `fe80::` ends in colons of its own.
        if let address = IPAddress(run) { return Self.masked(address) ?? run }
        if let address = IPAddress(body) { return (Self.masked(address) ?? body) + end }
        if let colon = body.lastIndex(of: ":"), let address = IPAddress(body[..<colon]), address.family == .ipv4 {
            return (Self.masked(address) ?? String(body[..<colon])) + body[colon...] + end
        }
        return run
    }

    /// The vendor's half of a hardware address.
    private static func hardware(_ text: String) -> String? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count >= 6, parts.allSatisfy({ $0.count == 2 && $0.allSatisfy(\.isHexDigit) }) else { return nil }
        return parts.prefix(3).joined(separator: ":") + ":xx:xx:xx"
    }

    /// What is left of a public address, or of one that holds a hardware address; `nil` for others.
    static func masked(_ address: IPAddress) -> String? {
        switch address {
        case .v4(let value):
            guard !address.isPrivate, value >> 24 != 0, value != .max, !address.isLoopback, !address.isLinkLocal,
                !address.isMulticast
            else { return nil }
            return "\(value >> 24).\(value >> 16 & 0xFF).x.x"
        case .v6(let value):
            guard !address.isLoopback, !address.isMulticast, !address.isUnspecified else { return nil }
            let holdsHardware = (value >> 24) & 0xFFFF == 0xFFFE
            if address.isLinkLocal { return holdsHardware ? "fe80::x" : nil }
            if address.isUniqueLocal && !holdsHardware { return nil }
            return String(value >> 112, radix: 16) + ":" + String(value >> 96 & 0xFFFF, radix: 16) + "::x"
        }
    }
}
