// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Documents
public import OrderedJSON

/// `gateway.changed`: a default router came, went, or was replaced.
public struct GatewayChanged: EventBody, MemberDeclaring {
    let interface: InterfaceReference
    let gateway: GatewayDocument?
    let previous: GatewayDocument?
    let cause: EventCause

    /// Describes the router now and before; `nil` where there is none.
    public init(_ gateway: GatewayDocument?, previous: GatewayDocument?, cause: EventCause) {
        interface = (gateway ?? previous)?.interface ?? InterfaceReference(named: "")
        self.gateway = gateway
        self.previous = previous
        self.cause = cause
    }

    public var name: EventName { .gatewayChanged }
    public var severity: Severity { .info }
    public var message: String {
        if let gateway, let previous, gateway.address == previous.address, gateway.interface == previous.interface {
            return "Default \(Self.label(gateway.family)) gateway \(gateway.address) on \(gateway.interface.name): "
                + "metric \(previous.metric) to \(gateway.metric)"
        }
        if let gateway {
            return "New default \(Self.label(gateway.family)) gateway on \(gateway.interface.name): \(gateway.address)"
        }
        guard let previous else { return "No default gateway" }
        return
            "Default \(Self.label(previous.family)) gateway \(previous.address) on \(previous.interface.name) was removed"
    }

    public static let members = Members<Self>.object()
        .member("interface") { $0.interface }
        .member("gateway", "`null` when it was removed.") { $0.gateway }
        .member("previous") { $0.previous }
        .added("cause") { $0.cause }

    private static func label(_ family: String) -> String { family == "ipv4" ? "IPv4" : "IPv6" }
}

/// `gateway.unreachable` and `gateway.reachable`: a default router stopped answering, or answers again.
public struct GatewayReachability: EventBody, MemberDeclaring {
    let interface: InterfaceReference
    let gateway: GatewayDocument
    let cause: EventCause
    let isReachable: Bool

    public init(_ gateway: GatewayDocument, isReachable: Bool, cause: EventCause) {
        interface = gateway.interface
        self.gateway = gateway
        self.isReachable = isReachable
        self.cause = cause
    }

    public var name: EventName { isReachable ? .gatewayReachable : .gatewayUnreachable }
    public var severity: Severity { isReachable ? .info : .warning }
    public var message: String {
        "Gateway \(gateway.address) on \(gateway.interface.name) \(isReachable ? "answers" : "does not answer")"
    }

    public static let members = Members<Self>.object()
        .member("interface") { $0.interface }
        .member("gateway") { $0.gateway }
        .added("cause") { $0.cause }
}

/// `dns.changed`: name servers, search domains or the verdict on them changed.
public struct DNSChanged: EventBody, MemberDeclaring {
    let dns: DNSDocument
    let previous: DNSDocument
    let cause: EventCause

    public static let members = Members<Self>.object()
        .member("dns") { $0.dns }
        .member("previous") { $0.previous }
        .added("cause") { $0.cause }

    /// Describes the name servers now and before.
    public init(_ dns: DNSDocument, previous: DNSDocument, cause: EventCause) {
        self.dns = dns
        self.previous = previous
        self.cause = cause
    }

    public var name: EventName { .dnsChanged }
    public var severity: Severity { dns.usable || !previous.usable ? .info : .warning }
    public var message: String {
        guard !dns.servers.isEmpty else { return "No DNS server" }
        let servers = "DNS server\(dns.servers.count == 1 ? "" : "s") \(dns.servers.joined(separator: ", "))"
        let domains = dns.search.isEmpty ? "nothing" : dns.search.joined(separator: " ")
        let search = dns.search == previous.search ? "" : ", searching \(domains)"
        return servers + search + (dns.usable ? "" : ", no name server is reachable")
    }
}
