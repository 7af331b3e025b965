// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import DNSWire
public import MulticastDNS
public import OrderedJSON

/// A service as Prometheus discovers it over HTTP (`http_sd_config`): one address to scrape, and labels.
///
/// Prometheus can neither look for services by multicast DNS nor resolve `.local` names, so the target is always an
/// address. Everything a stranger on the link can choose is a value of a `__meta_` label, which Prometheus drops after
/// relabelling; the one exception is the path, which has to begin with a slash.
public struct ScrapeTarget: MemberDeclaring, Equatable, Sendable {
    public var targets: [String]
    public var labels: JSONObject

    public static let members = Members<Self>.object("A target of Prometheus' http_sd.")
        .member("targets", "The address and the port; exactly one.") { $0.targets }
        .member("labels", as: .map(of: .text), "What relabelling can use.") { $0.labels }

    /// The services as targets, sorted by name.
    ///
    /// What is heard on several interfaces with the same host and port is one target. Services without an address
    /// that can be asked are left out.
    ///
    /// - Parameters:
    ///   - services: Services in the order in which equals are preferred.
    ///   - family: The only family to use; `nil` is any.
    /// - Returns: One target a service.
    public static func list(_ services: [Service], family: AddressFamily? = nil) -> [ScrapeTarget] {
        var best: [Identity: Choice] = [:]
        for service in services {
            for address in service.addresses where (family ?? address.address.family) == address.address.family {
                guard let rank = rank(of: address) else { continue }
                let identity = Identity(service)
                if let known = best[identity], known.rank <= rank { continue }
                best[identity] = Choice(service: service, address: address, rank: rank)
            }
        }
        return best.sorted { $0.key < $1.key }.map { ScrapeTarget($0.value) }
    }

    /// How well an address suits: routed IPv4 first, since most exporters listen there, then routed IPv6, then unique
    /// local ones (RFC 4193), then what is valid on one link only.
    ///
    /// - Returns: `nil` for what is no address of another host.
    private static func rank(of scoped: ScopedAddress) -> Int? {
        let address = scoped.address
        if address.isLoopback || address.isUnspecified || address.isMulticast { return nil }
        switch address.family {
        case .ipv4: return address.isLinkLocal ? 3 : 0
        case .ipv6:
            guard address.isLinkLocal else { return address.isUniqueLocal ? 2 : 1 }
            return scoped.scope == nil ? nil : 4
        }
    }

    private init(_ choice: Choice) {
        let (service, address) = (choice.service, choice.address)
        let host = address.address.family == .ipv6 ? "[\(address)]" : "\(address)"
        targets = ["\(host):\(service.port)"]
        var labels = JSONObject()
        let known = [
            ("name", service.name), ("type", service.type), ("domain", service.domain), ("host", service.host),
            ("port", "\(service.port)"), ("interface", service.interface), ("family", address.address.family.rawValue),
            ("addresses", "," + service.addresses.map { "\($0)," }.joined()),
        ]
        for (name, value) in known { labels["__meta_nwpath_" + name] = .string(value) }
        for entry in service.text {
            let key = Self.label(entry.key)
            // Two keys may become one label; the first counts, as it does among equal keys (RFC 6763 section 6.4).
            guard labels["__meta_nwpath_txtpresent_" + key] == nil else { continue }
            labels["__meta_nwpath_txt_" + key] = .string(entry.value.map(ServiceDocument.text) ?? "")
            labels["__meta_nwpath_txtpresent_" + key] = .string("true")
        }
        if let path = Self.path(of: service) { labels["__metrics_path__"] = .string(path) }
        self.labels = labels
    }

    /// A TXT key as the end of a label name: letters, digits and underscores.
    private static func label(_ key: String) -> String {
        String(
            decoding: key.utf8.map { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: byte
                default: UInt8(ascii: "_")
                }
            },
            as: UTF8.self
        )
    }

    /// The value of the TXT key `path`, where it is a path: printable ASCII that begins with a slash and has neither a
    /// query nor a fragment, which Prometheus would take for a part of the path.
    private static func path(of service: Service) -> String? {
        let entry = service.text.first { $0.key.lowercased() == "path" }
        guard let value = entry?.value, value.first == UInt8(ascii: "/"),
            value.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") })
        else { return nil }
        return String(decoding: value, as: UTF8.self)
    }
}

/// What makes it the same target: the instance, and where it runs.
private struct Identity: Hashable, Comparable {
    let instance: DomainName
    let name: String
    let host: String
    let port: UInt16

    init(_ service: Service) {
        instance = service.instance
        name = service.name
        host = service.host.lowercased()
        port = service.port
    }

    static func < (left: Identity, right: Identity) -> Bool {
        (left.name, left.host, left.port, left.instance) < (right.name, right.host, right.port, right.instance)
    }
}

private struct Choice {
    let service: Service
    let address: ScopedAddress
    let rank: Int
}
