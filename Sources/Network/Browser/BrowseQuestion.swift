// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import DNSWire
internal import MulticastDNS

/// The query of a browser, made of its descriptor.
struct BrowseQuestion: Hashable, Sendable {
    /// The name whose PTR records name the services.
    let pointer: DomainName
    /// Whether their TXT records are wanted as well.
    let wantsText: Bool

    /// Checks a descriptor.
    /// - Throws: ``NWError/dns(_:)``: a type or subtype that is not valid, a domain that no link has, or services of
    ///   paired devices.
    init(_ descriptor: NWBrowser.Descriptor) throws(NWError) {
        let (text, domain, withText): (String, String?, Bool)
        switch descriptor {
        case .bonjour(let type, let browseDomain): (text, domain, withText) = (type, browseDomain, false)
        case .bonjourWithTXTRecord(let type, let browseDomain): (text, domain, withText) = (type, browseDomain, true)
        case .applicationService: throw .dns(kDNSServiceErr_Unsupported)
        }
        guard ServiceNames.isLinkLocal(domain) else { throw .dns(kDNSServiceErr_Unsupported) }
        guard let pointer = ServiceNames.pointer(text) else { throw .dns(kDNSServiceErr_BadParam) }
        self.pointer = pointer
        // A type has no TXT record.
        wantsText = withText && pointer != ServiceName.enumeration
    }

    /// The result that a PTR record stands for; `nil` when its target is no name of a service, or of a type where types
    /// are enumerated.
    func service(_ target: DomainName) -> BrowseTable.Service? {
        guard pointer == ServiceName.enumeration else { return ServiceNames.service(target) }
        return ServiceNames.enumerated(target).map {
            .init(name: $0.name, type: $0.type, domain: ServiceNames.root)
        }
    }
}

/// Names of services as programs write them.
package enum ServiceNames {
    /// The domain of links, as results name it.
    package static let domain = "local."
    /// The domain of an enumerated type, as on Apple's systems.
    package static let root = "."

    /// Whether a domain is that of the links: `local`, with or without a dot, or none at all.
    package static func isLinkLocal(_ domain: String?) -> Bool {
        ["", ".", "local", "local."].contains(domain?.lowercased() ?? "")
    }

    /// The name whose PTR records a browser queries: that of a type such as `_http._tcp`, of a subtype as in
    /// `_http._tcp,_printer`, or `_services._dns-sd._udp`, which enumerates types; each with or without a dot at the end.
    package static func pointer(_ text: String) -> DomainName? {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map {
            $0.hasSuffix(".") ? String($0.dropLast()) : String($0)
        }
        if parts.count == 1, parts[0].lowercased() == "_services._dns-sd._udp" { return ServiceName.enumeration }
        guard parts.count <= 2, let type = BrowsableType(parts[0])?.name else { return nil }
        guard parts.count == 2 else { return type }
        return try? DomainName(labels: [Array(parts[1].utf8), Array("_sub".utf8)]).appending(type)
    }

    /// The parts of an instance's full name.
    /// - Returns: `nil` when it is not one of three parts, or not in UTF-8 (RFC 6763 section 4.1.1).
    ///
    /// A name that its sender cut at its dots, as python-zeroconf does, is whole again.
    static func service(_ instance: DomainName) -> BrowseTable.Service? {
        parts(instance).map { .init(name: $0.name, type: $0.type, domain: domain) }
    }

    /// As above, as two texts.
    package static func parts(_ instance: DomainName) -> (name: String, type: String)? {
        let labels = instance.labels.compactMap { String(validating: $0, as: UTF8.self) }
        let index = labels.count - 3
        guard index >= 1, labels.count == instance.labelCount, index == 1 || labels[index].hasPrefix("_") else {
            return nil
        }
        return (labels[..<index].joined(separator: "."), "\(labels[index]).\(labels[index + 1])")
    }

    /// The parts of a type's full name, which the enumeration of types has: the transport with the domain is its type.
    /// - Returns: `nil` when it has not three labels, or is not in UTF-8.
    package static func enumerated(_ type: DomainName) -> (name: String, type: String)? {
        let labels = type.labels.compactMap { String(validating: $0, as: UTF8.self) }
        guard labels.count == 3, type.labelCount == 3 else { return nil }
        return (labels[0], "\(labels[1]).\(labels[2]).")
    }

    /// The full names that an instance may have: its name as one label, and cut at its dots where it has some.
    /// - Returns: Nothing when the name is too long, or empty.
    package static func instances(_ name: String, of type: DomainName) -> [DomainName] {
        let cut = name.split(separator: ".", omittingEmptySubsequences: false).map { Array($0.utf8) }
        let candidates = [[Array(name.utf8)]] + (cut.count > 1 && !cut.contains([]) ? [cut] : [])
        return name.isEmpty ? [] : candidates.compactMap { try? DomainName(labels: $0).appending(type) }
    }
}
