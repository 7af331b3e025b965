// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire
internal import Spelling

/// What `nwpath resolve` resolves.
enum ResolveTarget: Hashable, Sendable {
    case host(DomainName)
    /// Host, port, addresses and text of a service.
    case instance(DomainName)
    case address(IPAddress)

    /// What a reader is told when a text is not one.
    static let expectation =
        "a host such as printer.local, a service such as '_ipp._tcp/Office Printer', or an address"

    /// Reads a host, an address, `TYPE/NAME`, or the full name of an instance.
    ///
    /// In a full name without backslashes, dots before the type belong to the name of the instance. A host of one
    /// label is looked for below `local`; one with several has to say so itself (rule N10).
    init?(_ text: String) {
        if let address = IPAddress(text) {
            self = .address(address)
            return
        }
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        if parts.count == 2, let type = BrowseTarget(parts[0]), type.names.count == 1, !parts[0].contains(",") {
            guard let label = SafeText.bytes(of: parts[1]), let name = try? DomainName(labels: [label]),
                let instance = try? name.appending(type.names[0])
            else { return nil }
            self = .instance(instance)
            return
        }
        guard let name = DomainName(text) else { return nil }
        var labels = name.labels
        if let index = labels.indices.dropLast().last(where: { Self.isType(labels[$0], labels[$0 + 1]) }), index > 0 {
            if labels.count == index + 2 { labels.append(Array("local".utf8)) }
            let isEscaped = text.utf8.contains(UInt8(ascii: "\\"))
            let front = labels[..<index]
            let head = isEscaped ? Array(front) : [Array(front.joined(separator: [UInt8(ascii: ".")]))]
            guard head.count == 1, let instance = try? DomainName(labels: head + labels[index...]),
                Self.isLocal(instance)
            else { return nil }
            self = .instance(instance)
            return
        }
        if labels.count == 1, let host = try? DomainName(labels: labels + [Array("local".utf8)]) {
            self = .host(host)
            return
        }
        guard labels.count > 1, Self.isLocal(name) else { return nil }
        self = .host(name)
    }

    /// What is wrong with a text that is not one; `nil` when it is.
    static func complaint(_ text: String) -> String? {
        guard ResolveTarget(text) == nil else { return nil }
        let start = "NAME is \(PrintableText.quote(text)), expected \(expectation)"
        let labels = text.split(separator: ".")
        guard labels.count > 1, let last = labels.last, !text.utf8.contains(UInt8(ascii: "/")) else { return start }
        if NearestSpelling.nearest(to: String(last), among: ["local"]) != nil, last != "local" {
            let meant = (labels.dropLast() + ["local"]).joined(separator: ".")
            return start + " (did you mean \(PrintableText.quote(meant))?)"
        }
        return start + "; names outside .local are for the resolver"
    }

    var text: String {
        switch self {
        case .host(let name), .instance(let name): "\(name)"
        case .address(let address): "\(address)"
        }
    }

    /// What is said of one that answers that there is nothing.
    var denial: String {
        switch self {
        case .instance: "is not offered: its port is 0"
        case .host, .address: "has no address"
        }
    }

    private static func isType(_ first: [UInt8], _ second: [UInt8]) -> Bool {
        let transport = String(decoding: second, as: UTF8.self).lowercased()
        return first.first == UInt8(ascii: "_") && ["_tcp", "_udp"].contains(transport)
    }

    private static func isLocal(_ name: DomainName) -> Bool {
        guard let local = DomainName("local") else { return false }
        return name.isWithin(local)
    }
}
