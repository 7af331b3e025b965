// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire

/// How a target is tested.
///
/// A new method is a case, a row of the table below, and a file with its ``Probe``; CONTRIBUTING.md lists the rest.
public enum ProbeMethod: String, Hashable, Sendable, CaseIterable {
    /// An ICMP echo request (RFC 792, RFC 4443 section 4.1).
    case icmp
    /// A TCP connection that is closed at once.
    case tcp
    /// An HTTP or HTTPS request for a page, without following redirects.
    case http
    case dns

    /// What a target of it looks like, for messages.
    public var targetForm: String { row.targetForm }
    /// The configuration keys that are for it alone.
    public var keys: Set<String> { row.keys }

    func target(_ text: String) -> ProbeTarget? { row.target(text) }

    /// What tests a target; `nil` for a target of another method.
    func test(_ definition: ProbeDefinition, at address: ScopedAddress, _ context: ProbeContext) -> ProbeTest? {
        row.test(definition, address, context)
    }

    private var row: Row {
        switch self {
        case .icmp:
            Row(
                targetForm: "an address, a host name or gateway",
                target: { $0 == "gateway" ? .gateway : ProbeHost($0).map { .host($0, port: nil) } },
                test: { definition, address, _ in
                    switch definition.target {
                    case .gateway, .host: .probe(ICMPEcho(to: address, route: definition.route))
                    case .page, .domain: nil
                    }
                }
            )
        case .tcp:
            Row(
                targetForm: "HOST:PORT with a port from 1 to 65535, such as example.test:443 or [2001:db8::1]:443",
                target: { text in
                    guard let (host, port) = HostAndPort.split(text), let port else { return nil }
                    return ProbeHost(host).map { .host($0, port: port) }
                },
                test: { definition, address, _ in
                    guard case .host(_, let port?) = definition.target else { return nil }
                    return .probe(TCPConnect(to: SocketAddress(address, port: port), route: definition.route))
                }
            )
        case .http:
            Row(
                targetForm: "a URL, such as http://example.test/generate_204",
                keys: ["expect_status", "ca"],
                target: { PageAddress($0).map { .page($0) } },
                test: { definition, _, _ in
                    if case .page(let page) = definition.target { .page(page) } else { nil }
                }
            )
        case .dns:
            Row(
                targetForm: "a domain name, such as example.test",
                keys: ["server", "record", "transport"],
                target: { text in
                    guard DomainName(text) != nil, AddressText.read(text) == nil, !text.isEmpty else { return nil }
                    return .domain(text)
                },
                test: { definition, address, context in
                    guard case .domain(let name) = definition.target else { return nil }
                    let port = AddressPlan.server(definition, context)?.port ?? 53
                    let server = SocketAddress(address, port: port)
                    return .probe(DNSQuery(name, to: server, definition.question, route: definition.route))
                }
            )
        }
    }

    private struct Row {
        let targetForm: String
        var keys: Set<String> = []
        let target: (String) -> ProbeTarget?
        let test: (ProbeDefinition, ScopedAddress, ProbeContext) -> ProbeTest?
    }
}

enum ProbeTest {
    case probe(any Probe<ProbeResult>)
    /// A request by libcurl, which has sockets of its own.
    case page(PageAddress)
}
