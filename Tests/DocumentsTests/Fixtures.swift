// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Documents
import LinuxIO
@testable import MulticastDNS
import Netlink
import OrderedJSON
import PathModel
import TestSupport
import Testing

extension IPAddress {
    /// Reads an address a test wrote.
    static func of(_ text: String) -> IPAddress {
        guard let address = IPAddress(text) else { preconditionFailure("\(text) is no address") }
        return address
    }
}

/// The text of a document as `curl` shows it: indented, keys in their order.
func pretty(_ document: some JSONObjectWritable) throws -> String {
    try OrderedJSONEncoder(style: .pretty).string(document)
}

/// What a document says, held against what it declares.
func shown(_ document: some JSONObjectWritable, _ form: Form) throws -> JSONValue {
    try held(try OrderedJSONEncoder().encode(document), form)
}

func shown(_ documents: [some JSONObjectWritable], _ form: Form) throws -> JSONValue {
    try held(try OrderedJSONEncoder().encode(documents), form)
}

private func held(_ text: [UInt8], _ form: Form) throws -> JSONValue {
    let value = try JSONValue(parsing: text)
    let problems = form.problems(in: value)
    #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
    return value
}

enum Sample {
    static let eth0 = PathInterface(name: "eth0", index: 2, type: .wiredEthernet)
    static let wwan0 = PathInterface(name: "wwan0", index: 5, type: .cellular)

    static let router = Gateway(
        address: ScopedAddress(.of("192.0.2.1")),
        interface: "eth0",
        family: .ipv4,
        metric: 100,
        isReachable: true
    )
    static let sixthRouter = Gateway(
        address: ScopedAddress(.of("fe80::1"), scope: "eth0"),
        interface: "eth0",
        family: .ipv6,
        metric: 1024
    )

    static let dns = DNSState(
        servers: [
            DNSServer(ScopedAddress(.of("192.0.2.53"))),
            DNSServer(ScopedAddress(.of("2001:db8::53")), port: 5353),
        ],
        search: ["example.test"],
        source: "/etc/resolv.conf",
        isUsable: true
    )

    /// A path that works by both families.
    static let satisfied = Path(
        status: .satisfied,
        reason: nil,
        interfaces: [eth0, wwan0],
        ipv4: FamilyPath(interfaces: [eth0], gateways: [router], source: .of("192.0.2.10")),
        ipv6: FamilyPath(interfaces: [eth0], gateways: [sixthRouter], source: .of("2001:db8::10")),
        dns: dns,
        linkQuality: .good
    )

    /// A path that does not work.
    static let unsatisfied = Path(
        status: .unsatisfied,
        reason: .noCarrier,
        subject: ReasonSubject(interface: "eth0")
    )

    /// A path that works and deserves a look.
    static let expensive = Path(
        status: .satisfied,
        reason: nil,
        interfaces: [wwan0],
        ipv4: FamilyPath(interfaces: [wwan0], gateways: [], source: .of("198.51.100.2")),
        isExpensive: true,
        isConstrained: true,
        isUltraConstrained: true,
        linkQuality: .minimal,
        underlyingTypes: [.cellular, .wifi],
        warnings: [.degraded, .ulaOnly]
    )

    /// A link as the kernel tells it, with its addresses.
    static func interface(
        _ change: (inout Link) -> Void = { _ in },
        addresses: [InterfaceAddress] = []
    ) -> InterfaceView {
        var link = Link(
            index: 2,
            name: "eth0",
            flags: [.up, .lowerUp, .broadcast, .multicast],
            carrier: true,
            operationalState: .up,
            hardwareAddress: [0x02, 0x00, 0x5E, 0x10, 0x00, 0x0F],
            carrierChanges: 3
        )
        change(&link)
        var state = KernelState()
        _ = state.apply(.link(link), at: .seconds(1000))
        for address in addresses { _ = state.apply(.address(address), at: .seconds(1000)) }
        return InterfaceView(link, classifier: InterfaceClassifier(state: state))
    }

    static let address4 = InterfaceAddress(
        index: 2,
        address: .of("192.0.2.10"),
        prefixLength: 24,
        flags: .permanent
    )
    static let address6 = InterfaceAddress(
        index: 2,
        address: .of("2001:db8::10"),
        prefixLength: 64,
        flags: [.temporary, .deprecated],
        validSeconds: 600,
        preferredSeconds: 0
    )

    /// A printer, first heard of a minute before the clock of the tests.
    static func service(_ change: (inout Service) -> Void = { _ in }) -> Service {
        var service = Service(
            instance: DomainName(),
            name: "Office Printer",
            type: "_ipp._tcp",
            domain: "local",
            interface: "eth0",
            interfaceIndex: 2,
            host: "printer.local",
            port: 631,
            addresses: [ScopedAddress(.of("192.0.2.60")), ScopedAddress(.of("fe80::60"), scope: "eth0")],
            text: [
                TextRecord.Entry(key: "txtvers", value: [0x31]), TextRecord.Entry(key: "note", value: nil),
                TextRecord.Entry(key: "raw", value: [0xFF, 0x0A]), TextRecord.Entry(key: "empty", value: []),
            ],
            rawText: [
                Array("txtvers=1".utf8), Array("note".utf8), Array("raw=".utf8) + [0xFF, 0x0A], Array("empty=".utf8),
            ],
            timeToLive: .seconds(4500),
            firstSeen: .seconds(940),
            lastSeen: .milliseconds(999_500)
        )
        change(&service)
        return service
    }
}
