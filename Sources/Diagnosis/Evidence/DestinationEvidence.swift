// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// The path to one host, port or page, step by step.
public struct DestinationEvidence: Hashable, Sendable {
    /// As it was given.
    public var text: String
    /// The name or address of the host.
    public var host: String
    public var service: Service
    /// The result of the lookup of its name; `nil` when it is an address.
    public var lookup: Assessment<Lookup>?
    /// The paths to its addresses, in the order of preference.
    public var paths: [Path] = []
    public var exchange: Assessment<Exchange> = .notAsked
    /// Its name, where /etc/hosts has it: the addresses there, and as expected those that a name server answers.
    package var hosts: LookupEvidence?
    /// The proxy of the environment that the request went through; nothing is known of the direct path then.
    package var proxy: String?
    /// The port of a page or WebSocket.
    public var port: UInt16?
    /// Why a step was not made, where that is known.
    public var gaps: [Layer: String] = [:]
    /// The duration of the lookup.
    public var lookupTime: Duration?

    public enum Service: Hashable, Sendable {
        /// Any answer.
        case host
        /// A connection.
        case port
        case page(isSecure: Bool)
        case webSocket(isSecure: Bool)
    }

    public enum Lookup: Hashable, Sendable {
        case found
        case noSuchName
        case noAddress
        /// It could not be found out.
        case failed(String)
    }

    public enum Route: Hashable, Sendable {
        /// Packets leave by an interface, to a router or, without one, to the host itself.
        case found(interface: String, gateway: IPAddress?)
        case missing
        /// A route throws packets away: its type and text.
        case discarded(type: String, text: String)
    }

    public struct Path: Hashable, Sendable {
        public var address: ScopedAddress
        public var route: Assessment<Route> = .notAsked
        /// Whether it answers ICMP echo.
        public var echo: Assessment<Bool> = .notAsked
        /// The median round trip of echoes.
        public var roundTrip: Duration?
        public var connection: Assessment<ReachEvidence.Connection> = .notAsked
        public var connectTime: Duration?
        /// Who sent an ICMP unreachable.
        public var unreachableFrom: IPAddress?
        /// Whether a packet filter of this machine refused every packet (`EPERM`).
        public var isRefused = false
        /// What keeps connections from leaving this machine, or replies from reaching it.
        package var obstacle: LocalObstacle?

        /// Makes a path that was not tested yet.
        public init(_ address: ScopedAddress) { self.address = address }

        /// Whether anything came back; `nil` when nothing was tested.
        public var isReachable: Bool? {
            guard echo.value != nil || connection.value != nil else { return nil }
            return echo.value == true || connection.value == .connected || connection.value == .refused
        }

        var isRouted: Bool { if case .found? = route.value { true } else { false } }

        /// Whether no router is between it and this machine.
        var isNear: Bool { if case .found(_, nil)? = route.value { true } else { false } }
    }

    public enum Exchange: Hashable, Sendable {
        /// The certificate does not verify.
        case untrusted(detail: String, isAboutTime: Bool)
        /// The encrypted connection could not be made.
        case unencrypted(detail: String)
        /// There was no answer, even if the connection was encrypted; the text says why.
        case unanswered(detail: String)
        /// There was an answer whose body ends before its length: its status, how many bytes came, and how many there are.
        case stalled(status: Int, read: Int, length: Int)
        /// There was an answer: its status, where it leads, and whether it opened a WebSocket.
        case answered(status: Int, location: String?, isUpgraded: Bool)
    }

    /// Makes evidence of a destination that was not tested yet.
    public init(_ text: String, host: String, port: UInt16?, _ service: Service) {
        self.text = text
        self.host = host
        self.port = port
        self.service = service
    }

    // MARK: - Steps

    public var layers: [Layer] {
        if proxy != nil { return service == .page(isSecure: true) ? [.tls, .http] : [.http] }
        let start: [Layer] = lookup == nil ? [.route, .reach] : [.resolve, .route, .reach]
        switch service {
        case .host: return start
        case .port: return start + [.tcp]
        case .page(let isSecure): return start + (isSecure ? [.tcp, .tls, .http] : [.tcp, .http])
        case .webSocket(let isSecure): return start + (isSecure ? [.tcp, .tls, .http] : [.tcp, .http]) + [.websocket]
        }
    }

    /// Whether no router is between it and this machine.
    var isNear: Bool { !paths.isEmpty && paths.allSatisfy(\.isNear) }

    /// Whether anything came back from it over an interface.
    func isAnswering(on interface: String) -> Bool {
        paths.contains { path in
            guard case .found(interface, _)? = path.route.value else { return false }
            return path.isReachable == true
        }
    }

    /// Whether a step is known to work.
    func isSound(_ layer: Layer) -> Bool {
        switch layer {
        case .resolve: return lookup?.value == .found
        case .route: return paths.contains(where: \.isRouted)
        case .reach: return paths.contains { $0.isReachable == true }
        case .tcp: return paths.contains { $0.connection.value == .connected }
        case .tls:
            switch exchange.value {
            case .answered, .unanswered, .stalled: return true
            case .untrusted, .unencrypted, nil: return false
            }
        case .http:
            guard case .answered? = exchange.value else { return false }
            return true
        case .websocket:
            guard case .answered(_, _, true)? = exchange.value else { return false }
            return true
        default: return false
        }
    }

    public var isComplete: Bool { layers.allSatisfy(isSound) }

    /// Whether an answer came that no router on the path can have sent.
    public var isGenuine: Bool {
        guard case .answered? = exchange.value else { return false }
        return service == .page(isSecure: true) || service == .webSocket(isSecure: true)
    }

    /// Whether a router on the path may have sent the answer: only encryption rules that out.
    public var mayBeForged: Bool {
        guard service == .page(isSecure: false), case .answered(let status, let location?, _)? = exchange.value else {
            return false
        }
        return (300..<400).contains(status) && !leadsBack(location)
    }

    /// Whether a redirect stays at the host.
    private func leadsBack(_ location: String) -> Bool {
        if location.hasPrefix("/") && !location.hasPrefix("//") { return true }
        let rest = location.drop { $0 != "/" }.drop { $0 == "/" }
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let isBracketed = authority.hasPrefix("[")
        let name = isBracketed ? authority.dropFirst().prefix { $0 != "]" } : authority.prefix { $0 != ":" }
        return name.lowercased() == host.lowercased()
    }
}
