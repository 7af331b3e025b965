// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Glibc
internal import PathModel

/// The contents of a resolv.conf(5), as the C library understands them.
struct ResolvConf: Equatable {
    /// How much of a file is read: the C library has no bound, a hostile file shall find one.
    static let sizeLimit = 65_536
    /// How many servers the C library queries (`MAXNS`).
    static let serverLimit = 3
    /// How many domains and options are kept.
    static let listLimit = 64

    var servers: [DNSServer] = []
    var search: [String] = []
    var ndots = 1
    var options: [String] = []

    /// Reads the text of a file; what is not understood is left out, as in the C library.
    init(parsing bytes: Span<UInt8>) {
        var line: [UInt8] = []
        for index in 0..<min(bytes.count, Self.sizeLimit) {
            if bytes[index] == UInt8(ascii: "\n") {
                read(line)
                line = []
            } else {
                line.append(bytes[index])
            }
        }
        read(line)
    }

    /// What the C library does with it: without a server it queries the one on this machine.
    func configuration(source: String) -> DNSConfiguration {
        var configuration = DNSConfiguration(search: search, ndots: ndots, options: options, source: source)
        configuration.isWithoutServer = servers.isEmpty
        if !servers.isEmpty { configuration.servers = servers }
        if options.contains("use-vc") {
            for index in configuration.servers.indices { configuration.servers[index].isQueriedOverTCP = true }
        }
        return configuration
    }

    private mutating func read(_ line: [UInt8]) {
        // A keyword starts its line; comments start with # or ;.
        guard let first = line.first, (97...122).contains(first) else { return }
        let text = String(decoding: line, as: UTF8.self)
        let words = text.unicodeScalars.split { $0 == " " || $0 == "\t" }.map { String($0) }
        guard words.count > 1 else { return }
        let values = words[1...]
        switch words[0] {
        case "nameserver":
            guard servers.count < Self.serverLimit, let address = ScopedAddress(literal: words[1]) else { return }
            servers.append(DNSServer(address))
        // The last line wins, whichever keyword it has.
        case "domain": search = Self.domains(values.prefix(1))
        case "search": search = Self.domains(values)
        case "options": for value in values { readOption(value) }
        default: return
        }
    }

    private static func domains(_ words: ArraySlice<String>) -> [String] {
        // A lone dot, as systemd-resolved writes it, means no search.
        // The C library keeps the carriage return of a line, and finds no name with it.
        Array(words.filter { $0 != "." && !$0.utf8.contains(13) && $0.utf8.count <= 255 }.prefix(listLimit))
    }

    private mutating func readOption(_ option: String) {
        if option.hasPrefix("ndots:") {
            guard let number = Int(option.dropFirst(6).prefix { $0.isASCII && $0.isNumber }) else { return }
            ndots = min(number, 15)
        } else if options.count < Self.listLimit, option.utf8.count <= 64 {
            options.append(option.filter { $0 != "\r" })
        }
    }
}

extension ScopedAddress {
    /// Reads an address as the C library does: inet_aton(3), which knows `10.9` and octal numbers, or IPv6 with an optional
    /// scope, such as `fe80::1%eth0`.
    init?(literal text: String) {
        if text.utf8.allSatisfy({ Self.classicLetters.contains($0) }) {
            var address = in_addr()
            guard unsafe inet_aton(text, &address) != 0 else { return nil }
            self.init(.v4(UInt32(bigEndian: address.s_addr)))
            return
        }
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(parts[0]), address.family == .ipv6 else { return nil }
        if parts.count == 2 {
            guard !parts[1].isEmpty, parts[1].utf8.count <= 15 else { return nil }
        }
        self.init(address, scope: parts.count == 2 ? String(parts[1]) : nil)
    }

    private static let classicLetters = Set("0123456789abcdefABCDEFxX.".utf8)
}
