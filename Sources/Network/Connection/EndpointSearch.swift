// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire
internal import FoundationEssentials
internal import Glibc
internal import LinuxIO
internal import MulticastDNS

/// Finds the addresses behind an endpoint; confined to the thread of its engines.
///
/// A service is followed until the search is cancelled, so that one that comes later is reported as well.
final class EndpointSearch {
    /// Events, in any number and order.
    enum Event {
        /// Addresses to be tried.
        case found([SocketEnd])
        /// A family has no more addresses to come.
        case finished(AddressFamily, NWError?)
    }

    /// What is searched.
    enum Target: Hashable, Sendable {
        /// Nothing: the address is known.
        case end(SocketEnd)
        /// A host by its name.
        case host(String, port: UInt16, interface: NWInterface?)
        /// A service by the full names that it may have.
        case service([DomainName], interface: NWInterface?)
        /// A unix socket.
        case path(String)

        /// Whether it is searched on the links, by multicast DNS.
        var isOnLink: Bool {
            switch self {
            case .service: true
            case .host(let name, _, _): EndpointSearch.linkName(name) != nil
            case .end, .path: false
            }
        }

        /// Reads an endpoint.
        /// - Throws: ``NWError/dns(_:)`` for a service that cannot be, ``NWError/posix(_:)`` for a URL without a host.
        init(_ endpoint: NWEndpoint) throws(NWError) {
            switch endpoint {
            case .hostPort(let host, let port): try self.init(host, port: port)
            case .unix(let path): self = .path(path)
            case .service(let name, let type, let domain, let interface):
                guard ServiceNames.isLinkLocal(domain) else { throw .dns(kDNSServiceErr_Unsupported) }
                let instances = BrowsableType(type).map { ServiceNames.instances(name, of: $0.name) } ?? []
                guard !instances.isEmpty else { throw .dns(kDNSServiceErr_BadParam) }
                self = .service(instances, interface: interface)
            case .url(let url):
                let ports: [String: Int] = ["http": 80, "ws": 80, "https": 443, "wss": 443]
                guard let host = url.host(), let number = url.port ?? ports[url.scheme?.lowercased() ?? ""],
                    let port = UInt16(exactly: number).map({ NWEndpoint.Port($0) })
                else { throw .posix(.EINVAL) }
                try self.init(NWEndpoint.Host(host), port: port)
            }
        }

        private init(_ host: NWEndpoint.Host, port: NWEndpoint.Port) throws(NWError) {
            if case .name(let name, let interface) = host {
                self = .host(name, port: port.rawValue, interface: interface)
            } else if let end = SocketEnd(.hostPort(host: host, port: port)) {
                self = .end(end)
            } else {
                throw .posix(.EINVAL)
            }
        }
    }

    private let engines: Engines
    private let onEvent: (Event) -> Void
    private var hosts: [AddressFamily: HostSearch] = [:]
    private var service: InstanceResolve?
    private var local: HostLookup?
    private var reported: Set<SocketEnd> = []
    private var settle: EventLoop.Timer?
    private let started: Duration
    /// What name servers said of a family, until the links have had their time.
    private var failures: [AddressFamily: EventLoop.Timer] = [:]

    /// How long the links have to answer for a name that name servers do not know: to questions at 0 and 1 s.
    private static let linkTimeout = Duration.milliseconds(1500)

    /// How long further addresses of a service are waited for, once there is one.
    private static let pause = Duration.milliseconds(100)

    /// Starts the search for addresses of these families; what is known already is reported within this call.
    init(_ target: Target, families: Set<AddressFamily>, engines: Engines, onEvent: @escaping (Event) -> Void) {
        self.engines = engines
        self.onEvent = onEvent
        started = engines.loop.clock.boot
        switch target {
        case .host(let name, let port, let interface):
            let host = Self.linkName(name)
            if let host { follow(host, families, port: port, interface: interface) }
            // Of several labels, it may be one of an organization that uses `local` by itself.
            if host.map({ $0.labelCount > 2 }) ?? true {
                lookUp(name, families, port: port, interface: interface)
            }
        case .service(let instances, let interface): follow(instances, families, interface: interface)
        case .end, .path: break
        }
    }

    deinit { cancel() }

    /// Ends the search: no more events.
    func cancel() {
        for search in hosts.values { search.cancel() }
        hosts = [:]
        for timer in failures.values { engines.loop.cancel(timer) }
        failures = [:]
        if let settle { engines.loop.cancel(settle) }
        settle = nil
        guard service != nil || local != nil else { return }
        service?.cancel()
        local?.cancel()
        (service, local) = (nil, nil)
        engines.multicast.release()
    }

    private func lookUp(_ name: String, _ families: Set<AddressFamily>, port: UInt16, interface: NWInterface?) {
        for family in families {
            hosts[family] = HostSearch(name, family, port: port, loop: engines.loop) { [weak self] outcome in
                // A peer that answers at once ends the search within the first event.
                guard let self else { return }
                hosts[family] = nil
                switch outcome {
                case .success(let ends):
                    onEvent(.found(ends.map { end in Self.scoped(end, interface) }))
                    onEvent(.finished(family, nil))
                case .failure(let error): finish(family, error)
                }
            }
        }
    }

    /// A name server knows of no address, or there is none; the links may, and have time to say so.
    private func finish(_ family: AddressFamily, _ error: NWError) {
        guard local != nil else { return onEvent(.finished(family, error)) }
        let end = started + Self.linkTimeout
        guard reported.isEmpty, engines.loop.clock.boot < end else { return onEvent(.finished(family, error)) }
        failures[family] = engines.loop.schedule(at: end) { [weak self] in
            guard let self else { return }
            failures[family] = nil
            if reported.isEmpty { onEvent(.finished(family, error)) }
        }
    }

    /// A link-local address without a scope is on the interface that the name was given for.
    private static func scoped(_ end: SocketEnd, _ interface: NWInterface?) -> SocketEnd {
        var end = end
        if end.family == .ipv6, end.address.isLinkLocal, end.scope == 0 { end.scope = UInt32(interface?.index ?? 0) }
        return end
    }

    // MARK: - Links

    /// A name below `local`, which is queried on the links (RFC 6762 section 3).
    fileprivate static func linkName(_ name: String) -> DomainName? {
        let labels = name.split(separator: ".").map { Array($0.utf8) }
        guard labels.count >= 2, name.lowercased().hasSuffix(".local") || name.lowercased().hasSuffix(".local.") else {
            return nil
        }
        return try? DomainName(labels: labels)
    }

    private func follow(_ host: DomainName, _ families: Set<AddressFamily>, port: UInt16, interface: NWInterface?) {
        engines.multicast.retain()
        local = HostLookup(
            engines.multicast.engine,
            host: host,
            families: families.sorted(),
            interface: interface?.name
        ) { [weak self] answer in
            self?.report(answer.addresses, on: answer.interfaceIndex, families, port: port)
        }
    }

    private func follow(_ instances: [DomainName], _ families: Set<AddressFamily>, interface: NWInterface?) {
        engines.multicast.retain()
        service = InstanceResolve(
            engines.multicast.engine,
            instances: Set(instances),
            interface: interface?.name,
            wantsText: false
        ) { [weak self] event in
            switch event {
            case .resolved(let found), .changed(let found, _, _):
                self?.report(found.addresses, on: found.interfaceIndex, families, port: found.port)
            default: return
            }
        }
    }

    private func report(_ addresses: [ScopedAddress], on index: Int, _ families: Set<AddressFamily>, port: UInt16) {
        let ends = addresses.map(\.address).filter { families.contains($0.family) }.map { address in
            let needsScope = address.family == .ipv6 && address.isLinkLocal
            return SocketEnd(address: address, scope: needsScope ? UInt32(index) : 0, port: port)
        }
        let new = ends.filter { reported.insert($0).inserted }
        guard !new.isEmpty else { return }
        let isFirst = reported.count == new.count
        onEvent(.found(new))
        guard isFirst else { return }
        settle = engines.loop.schedule(after: Self.pause) { [weak self] in
            self?.settle = nil
            for family in families { self?.onEvent(.finished(family, nil)) }
        }
    }
}
