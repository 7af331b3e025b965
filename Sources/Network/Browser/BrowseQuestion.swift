// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import DNSWire
internal import MulticastDNS

/// What a browser asks the links, made of its descriptor.
struct BrowseQuestion: Hashable, Sendable {
    /// The name whose PTR records name the services.
    let pointer: DomainName
    /// Whether their TXT records are wanted as well.
    let wantsText: Bool

    /// Checks a descriptor.
    /// - Throws: ``NWError/dns(_:)``: a type or subtype that is not valid, a domain that no link has, or services of
    ///   paired devices.
    init(_ descriptor: NWBrowser.Descriptor) throws(NWError) {
        let (text, domain): (String, String?)
        switch descriptor {
        case .bonjour(let type, let place):
            (text, domain) = (type, place)
            wantsText = false
        case .bonjourWithTXTRecord(let type, let place):
            (text, domain) = (type, place)
            wantsText = true
        case .applicationService:
            throw .dns(kDNSServiceErr_Unsupported)
        }
        guard ServiceNames.isLinkLocal(domain) else { throw .dns(kDNSServiceErr_Unsupported) }
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard parts.count <= 2, let type = parts.first.flatMap({ ServiceNames.type($0) }) else {
            throw .dns(kDNSServiceErr_BadParam)
        }
        guard parts.count == 2 else {
            pointer = type
            return
        }
        let labels = [Array(parts[1].utf8), Array("_sub".utf8)]
        guard !parts[1].isEmpty, let subtype = try? DomainName(labels: labels).appending(type) else {
            throw .dns(kDNSServiceErr_BadParam)
        }
        pointer = subtype
    }
}

/// Names of services as programs write them.
package enum ServiceNames {
    /// The domain of links, as results name it.
    package static let domain = "local."

    /// Whether a domain is that of the links: `local`, with or without a dot, or none at all.
    package static func isLinkLocal(_ domain: String?) -> Bool {
        ["", ".", "local", "local."].contains(domain?.lowercased() ?? "")
    }

    /// The full name of a type such as `_http._tcp`, with or without a dot at the end.
    /// - Returns: `nil` when it is none that may be published (RFC 6335 section 5.1).
    package static func type(_ text: String) -> DomainName? {
        let text = text.hasSuffix(".") ? String(text.dropLast()) : text
        return try? ServiceRegistration(name: [0x61], type: text, port: 1).validate()
    }

    /// The parts of an instance's full name.
    /// - Returns: `nil` when it is not one of three parts, or not in UTF-8 (RFC 6763 section 4.1.1).
    ///
    /// A name that its sender cut at its dots, as python-zeroconf does, is whole again.
    static func service(_ instance: DomainName) -> BrowseBook.Service? {
        parts(instance).map { BrowseBook.Service(name: $0.name, type: $0.type, domain: domain) }
    }

    /// As above, as two texts.
    package static func parts(_ instance: DomainName) -> (name: String, type: String)? {
        let labels = instance.labels.compactMap { String(validating: $0, as: UTF8.self) }
        let place = labels.count - 3
        guard place >= 1, labels.count == instance.labelCount, place == 1 || labels[place].hasPrefix("_") else {
            return nil
        }
        return (labels[..<place].joined(separator: "."), "\(labels[place]).\(labels[place + 1])")
    }

    /// The full names that an instance may have: its name as one label, and cut at its dots where it has some.
    /// - Returns: Nothing when the name is too long, or empty.
    package static func instances(_ name: String, of type: DomainName) -> [DomainName] {
        let cut = name.split(separator: ".", omittingEmptySubsequences: false).map { Array($0.utf8) }
        let ways = [[Array(name.utf8)]] + (cut.count > 1 && !cut.contains([]) ? [cut] : [])
        return name.isEmpty ? [] : ways.compactMap { try? DomainName(labels: $0).appending(type) }
    }
}
