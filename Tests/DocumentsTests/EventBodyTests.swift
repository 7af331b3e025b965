// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Documents
import EventHub
import LinuxIO
@testable import MulticastDNS
import OrderedJSON
import PathModel
import TestSupport
import Testing

/// One event of every kind that tells of paths, interfaces, gateways and services, with what it looks like.
struct Example: Sendable, CustomTestStringConvertible {
    var body: any EventBody
    /// Severity, name and sentence.
    var summary: String
    /// The data after the envelope.
    var data: String

    var testDescription: String { summary }

    static let cause = EventCause(
        kind: "link",
        source: "rtnetlink",
        message: "RTM_NEWLINK",
        received: WallTime(nanoseconds: 1_795_176_000_000_000_000)
    )
    static let causeText =
        #""cause":{"kind":"link","source":"rtnetlink","message":"RTM_NEWLINK","#
        + #""received":"2026-11-20T12:00:00.000000000Z"}"#
    private static let pointer = #""cause":{"kind":"link","seq":43}"#

    static func json(_ document: some JSONObjectWritable) -> String {
        (try? OrderedJSONEncoder().string(document)) ?? "?"
    }

    private static func interface(_ change: (inout InterfaceDocument) -> Void = { _ in }) -> InterfaceDocument {
        var document = InterfaceDocument(Sample.interface(), at: .seconds(1000))
        document.usable = true
        document.problem = nil
        change(&document)
        return document
    }

    /// A Wi-Fi station at one of two access points.
    static func station(_ number: UInt8, signal: Int?) -> WirelessFacts {
        WirelessFacts(mode: 2, ssid: Array("office-7".utf8), signal: signal, bssid: [2, 0, 0, 0, number, 0])
    }

    private static let clock = ManualClock()
    private static let printer = ServiceDocument(Sample.service(), clock: clock)
    private static let satisfied = PathDocument(Sample.satisfied)
    private static let unsatisfied = PathDocument(Sample.unsatisfied)
    private static let router = GatewayDocument(Sample.router)
    private static let sixth = GatewayDocument(Sample.sixthRouter)
    private static let dns = DNSDocument(Sample.dns)
    private static let noDNS = DNSDocument(DNSState(servers: Sample.dns.servers, source: "resolved"))

    static let all =
        headlines + paths + interfaces + roams + gateways + services + probes + verdicts + traffic + streams

    // MARK: - Paths

    static let paths = [
        Example(
            body: PathSnapshot(monitor: "default", path: satisfied, sentence: "Path default is satisfied via eth0"),
            summary: "info path.snapshot Path default is satisfied via eth0",
            data: #""monitor":"default","path":"# + json(satisfied) + "}"
        ),
        Example(
            body: PathSnapshot(monitor: "wired", path: unsatisfied, sentence: "Path wired is unsatisfied"),
            summary: "warning path.snapshot Path wired is unsatisfied",
            data: #""monitor":"wired","path":"# + json(unsatisfied) + "}"
        ),
        Example(
            body: PathChanged(
                monitor: "default",
                changed: ["status", "interfaces"],
                path: unsatisfied,
                previous: PathChanged.Previous(Sample.satisfied, duration: .milliseconds(82_554)),
                cause: cause,
                evaluation: .microseconds(250),
                sentence: "Path default is unsatisfied: eth0 has no carrier"
            ),
            summary: "error path.changed Path default is unsatisfied: eth0 has no carrier",
            data: #""monitor":"default","changed":["status","interfaces"],"path":"# + json(unsatisfied)
                + #","previous":"# + json(satisfied).dropLast() + #","duration_seconds":82.554},"# + causeText
                + #","evaluation_seconds":0.00025}"#
        ),
        Example(
            body: PathChanged(
                monitor: "default",
                changed: ["status"],
                path: satisfied,
                previous: PathChanged.Previous(Sample.unsatisfied, duration: .microseconds(1_234_567)),
                cause: cause.pointing(to: 43),
                evaluation: .milliseconds(2500),
                sentence: "Path default is satisfied via eth0"
            ),
            summary: "info path.changed Path default is satisfied via eth0",
            data: #""monitor":"default","changed":["status"],"path":"# + json(satisfied)
                + #","previous":"# + json(unsatisfied).dropLast() + #","duration_seconds":1.235},"# + pointer
                + #","evaluation_seconds":2.5}"#
        ),
        Example(
            body: PathFlapping(monitor: "default", hasStarted: true, changes: 8, window: .seconds(60)),
            summary: "warning path.flapping Path default changed 8 times in 60 s",
            data: #""monitor":"default","flapping":{"state":"started","changes":8,"window_seconds":60}}"#
        ),
        Example(
            body: PathFlapping(monitor: "default", hasStarted: false, changes: 31, window: .seconds(60)),
            summary: "info path.flapping Path default is stable again after 31 more changes",
            data: #""monitor":"default","flapping":{"state":"ended","changes":31,"window_seconds":60}}"#
        ),
    ]

    // MARK: - Interfaces

    private static func changed(
        _ fields: [InterfaceField],
        _ summary: String,
        to new: (inout InterfaceDocument) -> Void = { _ in },
        from old: (inout InterfaceDocument) -> Void = { _ in }
    ) -> Example {
        let now = interface(new)
        let names = fields.map { JSONText.quote($0.rawValue) }.joined(separator: ",")
        return Example(
            body: InterfaceChanged(now, changed: fields, previous: interface(old), cause: cause.pointing(to: 43)),
            summary: summary,
            data: #""interface":"# + json(now) + #","changed":["# + names + #"],"previous":"#
                + json(interface(old)) + "," + pointer + "}"
        )
    }

    private static func redundancy(
        _ summary: String,
        isLost: Bool,
        _ change: (inout InterfaceDocument) -> Void
    ) -> Example {
        let bond = interface(change)
        return Example(
            body: RedundancyChanged(bond, isLost: isLost, cause: cause),
            summary: summary,
            data: #""interface":"# + json(bond) + "," + causeText + "}"
        )
    }

    static let interfaces = [
        Example(
            body: InterfacePresence(interface(), isAdded: true, cause: cause),
            summary: "info interface.added eth0 appeared",
            data: #""interface":"# + json(interface()) + "," + causeText + "}"
        ),
        Example(
            body: InterfacePresence(interface(), isAdded: false, cause: cause),
            summary: "info interface.removed eth0 was removed",
            data: #""interface":"# + json(interface()) + "," + causeText + "}"
        ),
        Example(
            body: InterfacePresence(interface { $0.required = true }, isAdded: false, cause: cause),
            summary: "warning interface.removed eth0 was removed",
            data: #""interface":"# + json(interface { $0.required = true }) + "," + causeText + "}"
        ),
        redundancy("warning interface.redundancy_lost eth0 has 1 of 3 working ports; e0, e2 failed", isLost: true) {
            $0.ports = PortCount(working: 1, total: 3, failed: ["e0", "e2"])
        },
        redundancy("info interface.redundancy_restored eth0 has 2 of 2 working ports again", isLost: false) {
            $0.ports = PortCount(working: 2, total: 2)
        },
        changed(
            [.carrier, .operstate],
            "warning interface.changed eth0 lost carrier"
        ) {
            $0.carrier = false
            $0.usable = false
            $0.problem = .noCarrier
            $0.operstate = "lowerlayerdown"
        },
        changed(
            [.carrier],
            "info interface.changed eth0 has carrier",
            from: {
                $0.carrier = false
            }
        ),
        changed([.up], "warning interface.changed eth0 was set down") {
            $0.up = false
            $0.usable = false
            $0.problem = .linkDown
        },
        changed(
            [.up],
            "info interface.changed eth0 was set up",
            from: {
                $0.up = false
            }
        ),
        changed(
            [.name],
            "info interface.changed eth9 is now called eth0",
            from: {
                $0.name = "eth9"
            }
        ),
        changed([.operstate], "info interface.changed eth0 is dormant") {
            $0.operstate = "dormant"
        },
        changed([.master], "info interface.changed eth0 became a port of br0") {
            $0.master = "br0"
            $0.usable = false
            $0.problem = .enslaved
        },
        changed(
            [.master],
            "info interface.changed eth0 is no longer a port",
            from: {
                $0.master = "br0"
            }
        ),
        changed(
            [.alternativeNames],
            "info interface.changed eth0 is also called a, b"
        ) { $0.alternativeNames = ["a", "b"] },
        changed(
            [.mtu, .hardwareAddress, .type, .required, .ignored, .expensive, .constrained],
            "info interface.changed eth0 changed mtu to 1500, hardware_address to 02:00:5e:10:00:0f, "
                + "type to wiredEthernet, required to false, ignored to false, is_expensive to false, is_constrained to false",
            from: {
                $0.mtu = 9000
                $0.hardwareAddress = nil
                $0.type = .wifi
                $0.required = true
                $0.ignored = true
                $0.isExpensive = true
                $0.isConstrained = true
            }
        ),
        changed([.wifi], "info interface.changed eth0 is associated with office-7") {
            $0.wifi = WirelessDocument(station(1, signal: -47))
        },
        changed([.ignored], "info interface.changed eth0 changed ignored to true") {
            $0.ignored = true
            $0.usable = false
            $0.problem = .ignored
        },
        Example(
            body: AddressChanged(
                AddressDocument(
                    AddressView(HeldAddress(Sample.address6, receivedAt: .seconds(1000))),
                    at: .seconds(1000)
                ),
                on: InterfaceReference(Sample.interface()),
                isAdded: true,
                cause: cause
            ),
            summary: "info address.added eth0 gained 2001:db8::10/64",
            data: #""interface":{"name":"eth0","index":2},"address":{"address":"2001:db8::10","prefix_length":64,"#
                + #""family":"ipv6","scope":"global","flags":["temporary","deprecated","dynamic"],"valid_seconds":600},"#
                + causeText + "}"
        ),
        Example(
            body: AddressChanged(
                AddressDocument(AddressView(HeldAddress(Sample.address4, receivedAt: .zero)), at: .zero),
                on: InterfaceReference(Sample.interface()),
                isAdded: false,
                cause: cause.pointing(to: 43)
            ),
            summary: "info address.removed eth0 lost 192.0.2.10/24",
            data: #""interface":{"name":"eth0","index":2},"address":{"address":"192.0.2.10","prefix_length":24,"#
                + #""family":"ipv4","scope":"global","flags":[],"valid_seconds":null},"# + pointer + "}"
        ),
    ]

    // MARK: - Gateways and DNS

    static let gateways = [
        Example(
            body: GatewayChanged(router, previous: nil, cause: cause),
            summary: "info gateway.changed New default IPv4 gateway on eth0: 192.0.2.1",
            data: #""interface":{"name":"eth0"},"gateway":"# + json(router) + #","previous":null,"# + causeText + "}"
        ),
        Example(
            body: GatewayChanged(sixth, previous: router, cause: cause),
            summary: "info gateway.changed New default IPv6 gateway on eth0: fe80::1%eth0",
            data: #""interface":{"name":"eth0"},"gateway":"# + json(sixth) + #","previous":"# + json(router) + ","
                + causeText + "}"
        ),
        Example(
            body: GatewayChanged(nil, previous: sixth, cause: cause),
            summary: "info gateway.changed Default IPv6 gateway fe80::1%eth0 on eth0 was removed",
            data: #""interface":{"name":"eth0"},"gateway":null,"previous":"# + json(sixth) + "," + causeText + "}"
        ),
        Example(
            body: GatewayReachability(router, isReachable: false, cause: cause),
            summary: "warning gateway.unreachable Gateway 192.0.2.1 on eth0 does not answer",
            data: #""interface":{"name":"eth0"},"gateway":"# + json(router) + "," + causeText + "}"
        ),
        Example(
            body: GatewayReachability(router, isReachable: true, cause: cause),
            summary: "info gateway.reachable Gateway 192.0.2.1 on eth0 answers",
            data: #""interface":{"name":"eth0"},"gateway":"# + json(router) + "," + causeText + "}"
        ),
        Example(
            body: DNSChanged(dns, previous: noDNS, cause: cause),
            summary: "info dns.changed DNS servers 192.0.2.53, [2001:db8::53]:5353, searching example.test",
            data: #""dns":"# + json(dns) + #","previous":"# + json(noDNS) + "," + causeText + "}"
        ),
        Example(
            body: DNSChanged(noDNS, previous: dns, cause: cause),
            summary: "warning dns.changed DNS servers 192.0.2.53, [2001:db8::53]:5353, searching nothing, "
                + "no name server is reachable",
            data: #""dns":"# + json(noDNS) + #","previous":"# + json(dns) + "," + causeText + "}"
        ),
        Example(
            body: DNSChanged(DNSDocument(DNSState()), previous: noDNS, cause: cause),
            summary: "info dns.changed No DNS server",
            data: #""dns":"# + json(DNSDocument(DNSState())) + #","previous":"# + json(noDNS) + "," + causeText + "}"
        ),
    ]

    // MARK: - Services

    private static let moved = ServiceDocument(
        Sample.service {
            $0.host = "other.local"
            $0.port = 9100
            $0.addresses = []
            $0.text = []
        },
        clock: clock
    )

    private static func census(_ services: Int, _ types: Int) -> CensusCompleted {
        CensusCompleted(
            CensusSummary(
                duration: .milliseconds(4020),
                types: types,
                services: services,
                added: 1,
                changed: 2,
                removed: 3,
                unresolved: 4,
                interfaces: ["eth0"]
            )
        )
    }

    private static func censusText(_ services: Int, _ types: Int) -> String {
        #""census":{"duration_seconds":4.02,"types":"# + "\(types)" + #","services":"# + "\(services)"
            + #","added":1,"changed":2,"removed":3,"unresolved":4,"interfaces":[{"name":"eth0"}]}}"#
    }

    static let services = [
        Example(
            body: ServiceAdded(printer),
            summary: "info service.added Office Printer (_ipp._tcp) appeared on eth0",
            data: #""service":"# + json(printer) + "}"
        ),
        Example(
            body: ServiceChanged(printer, changed: [.host, .port, .addresses, .text], previous: moved),
            summary: "info service.changed Office Printer (_ipp._tcp) changed host to printer.local, port to 631, "
                + "addresses to 192.0.2.60 fe80::60%eth0, txt to txtvers=1 note raw=hex:ff0a empty=",
            data: #""service":"# + json(printer) + #","changed":["host","port","addresses","txt"],"#
                + #""previous":"# + json(moved) + "}"
        ),
        Example(
            body: ServiceChanged(printer, changed: [.port], previous: moved, suppressed: 298),
            summary: "info service.changed Office Printer (_ipp._tcp) changed port to 631 "
                + "(298 earlier events suppressed)",
            data: #""service":"# + json(printer) + #","changed":["port"],"previous":"# + json(moved)
                + #","suppressed":298}"#
        ),
        Example(
            body: ServiceRemoved(printer, reason: .goodbye, seenFor: .seconds(2280)),
            summary: "info service.removed Office Printer (_ipp._tcp) was removed: goodbye",
            data: #""service":"# + json(printer) + #","removed":{"reason":"goodbye","seen_for_seconds":2280}}"#
        ),
        Example(
            body: ServicesMoved([], types: ["_ipp._tcp"], on: "eth0", isFound: false, cause: EventCause(kind: "link")),
            summary: "info services.lost 0 services lost with eth0",
            data: #""interface":{"name":"eth0"},"count":0,"names":[],"types":["_ipp._tcp"],"cause":{"kind":"link"}}"#
        ),
        Example(
            body: ServicesMoved([], types: [], on: "eth0", isFound: true, cause: EventCause(kind: "initial")),
            summary: "info services.found 0 services back on eth0",
            data: #""interface":{"name":"eth0"},"count":0,"names":[],"types":[],"cause":{"kind":"initial"}}"#
        ),
        Example(
            body: ServiceResolveFailed(
                UnresolvedService(
                    instance: DomainName(),
                    name: "Ghost",
                    type: "_ssh._tcp",
                    interface: "eth0",
                    interfaceIndex: 2,
                    missing: ["SRV", "TXT"]
                )
            ),
            summary: "warning service.resolve_failed Ghost (_ssh._tcp) on eth0 cannot be resolved: no SRV, TXT",
            data: #""service":{"name":"Ghost","type":"_ssh._tcp","type_name":"Remote shell (SSH)","#
                + #""interface":{"name":"eth0"},"missing":["SRV","TXT"]}}"#
        ),
        Example(
            body: ServiceTypeChanged(type: "_ipp._tcp", isAdded: true),
            summary: "info service_type.added Service type _ipp._tcp appeared",
            data: #""service_type":"_ipp._tcp","type_name":"Printer"}"#
        ),
        Example(
            body: ServiceTypeChanged(type: "_ipp._tcp", isAdded: false),
            summary: "info service_type.removed Service type _ipp._tcp was removed",
            data: #""service_type":"_ipp._tcp","type_name":"Printer"}"#
        ),
        Example(
            body: NameConflictFound(
                NameConflict(
                    name: DomainName("Dr\\. No._ipp._tcp.local") ?? DomainName(),
                    interface: "eth0",
                    newName: DomainName("Dr\\. No \\(2\\)._ipp._tcp.local")
                )
            ),
            summary: #"warning mdns.name_conflict Another host on eth0 uses the name Dr\. No._ipp._tcp.local; "#
                + #"trying Dr\. No (2)._ipp._tcp.local"#,
            data: #""conflict":{"name":"Dr\\. No._ipp._tcp.local","interface":{"name":"eth0"},"#
                + #""renamed_to":"Dr\\. No (2)._ipp._tcp.local"}}"#
        ),
        Example(
            body: NameConflictFound(
                NameConflict(name: DomainName("box.local") ?? DomainName(), interface: "eth0", newName: nil)
            ),
            summary: "warning mdns.name_conflict Another host on eth0 uses the name box.local; it is withdrawn",
            data: #""conflict":{"name":"box.local","interface":{"name":"eth0"},"renamed_to":null}}"#
        ),
        Example(
            body: MulticastPortChanged(
                OccupiedPort(family: .ipv4, holder: PortOwner(user: 0, process: 812, name: "dnsmasq")),
                isTaken: true
            ),
            summary: "warning mdns.port_taken UDP port 5353 is used exclusively by dnsmasq (process 812): "
                + "no multicast DNS over IPv4",
            data: #""port":{"number":5353,"family":"ipv4","holder":{"user":0,"process":812,"name":"dnsmasq"}}}"#
        ),
        Example(
            body: MulticastPortChanged(OccupiedPort(family: .ipv6, holder: nil), isTaken: false),
            summary: "info mdns.port_free UDP port 5353 is available again: multicast DNS over IPv6 works",
            data: #""port":{"number":5353,"family":"ipv6","holder":null}}"#
        ),
        Example(
            body: census(9, 3),
            summary: "info census.completed Census: 9 services of 3 types",
            data: censusText(9, 3)
        ),
        Example(
            body: census(1, 1),
            summary: "info census.completed Census: 1 service of 1 type",
            data: censusText(1, 1)
        ),
    ]
}

@Suite struct EventBodyTests {
    private func hub() throws -> EventHub {
        EventHub(EventHub.Options(host: "edge-17"), after: try EventPosition("7f3a.42"), clock: ManualClock())
    }

    @Test(arguments: Example.all)
    func `severity, sentence and data are as published`(example: Example) throws {
        let body = example.body
        #expect("\(body.severity) \(body.name) \(body.message)" == example.summary)
        let text = String(decoding: try hub().draft(body).json, as: UTF8.self)
        let message = try OrderedJSONEncoder().string(.string(body.message))
        let parts = text.split(separator: #""message":"# + message + ",", maxSplits: 1)
        #expect(parts.last.map(String.init) == example.data)
    }

    @Test(arguments: Example.all)
    func `a record is the same whatever its white space`(example: Example) throws {
        let parts = [OrderedJSONEncoder(style: .compact), OrderedJSONEncoder(style: .pretty)].map { encoder in
            try? encoder.encode { object in
                object.write("first", 1)
                example.body.write(to: &object)
            }
        }
        let (line, lines) = (try #require(parts[0]), try #require(parts[1]))
        let compact = try JSONValue(parsing: line)
        #expect(try JSONValue(parsing: lines) == compact)
        #expect(lines.contains(0x0A) && !line.contains(0x0A))
        #expect(compact["first"] == .integer(1), "the body shares the object of its envelope")
    }

    @Test(arguments: Example.all)
    func `an event about a path, and no other, tells the status that its record shows`(example: Example) throws {
        let event = try hub().draft(example.body)
        let record = try JSONValue(parsing: event.json)
        guard record["path"] != nil else {
            #expect(event.status == nil)
            return
        }
        let status = try #require(event.status)
        #expect(status.monitor == record["monitor"]?.string)
        #expect(status.status.rawValue == record["path"]?["status"]?.string)
        #expect(status.reason?.rawValue == record["path"]?["unsatisfied_reason"]?.string)
    }

    @Test func `a cause tells only what is known of it`() throws {
        let full = EventCause(
            kind: "resume",
            source: "timer",
            message: "m",
            received: WallTime(nanoseconds: 0),
            sleptSeconds: 1.5
        )
        let text = try OrderedJSONEncoder().string(full)
        let expected =
            #"{"kind":"resume","source":"timer","message":"m","received":"1970-01-01T00:00:00.000000000Z","#
            + #""slept_seconds":1.5}"#
        #expect(text == expected)
        #expect(try OrderedJSONEncoder().string(EventCause(kind: "audit")) == #"{"kind":"audit"}"#)
        #expect(try OrderedJSONEncoder().string(full.pointing(to: .max)) == #"{"kind":"resume","seq":\#(UInt64.max)}"#)
    }

    @Test func `every kind of event that can happen today has an example`() {
        let told = Set(Example.all.map(\.body.name))
        let elsewhere: Set<EventName> = [
            .logOpened, .logGap, .daemonStarted, .daemonStopping, .configReloaded, .configRejected,
            .netlinkOverrun, .clockJumped,
        ]
        let later: Set<EventName> = [.routeChanged]
        #expect(told.isDisjoint(with: elsewhere) && told.isDisjoint(with: later))
        #expect(told.union(elsewhere).union(later) == Set(EventName.allCases))
    }

    @Test(
        arguments: [
            (Sample.satisfied, Sample.unsatisfied, Severity.error), (Sample.unsatisfied, Sample.unsatisfied, .warning),
            (Sample.unsatisfied, Sample.satisfied, .info), (Sample.satisfied, Sample.satisfied, .info),
            (Sample.satisfied, Sample.expensive, .warning), (Sample.unsatisfied, Sample.expensive, .warning),
        ]
    )
    func `losing a path is an error, having a poor one a warning`(old: Path, new: Path, severity: Severity) {
        let body = PathChanged(
            monitor: "default",
            changed: [],
            path: PathDocument(new),
            previous: PathChanged.Previous(old, duration: .zero),
            cause: Example.cause,
            evaluation: .zero,
            sentence: ""
        )
        #expect(body.severity == severity)
    }

    @Test(arguments: PathWarning.allCases)
    func `a path with a warning is a warning`(warning: PathWarning) {
        var path = Sample.satisfied
        path.warnings = [warning]
        let body = PathChanged(
            monitor: "default",
            changed: ["warnings"],
            path: PathDocument(path),
            previous: PathChanged.Previous(Sample.satisfied, duration: .seconds(1)),
            cause: Example.cause,
            evaluation: .zero,
            sentence: ""
        )
        #expect(body.severity == .warning)
    }

    @Test(arguments: RemovalReason.allCases)
    func `a service says why it went`(reason: RemovalReason) throws {
        let printer = ServiceDocument(Sample.service(), clock: ManualClock())
        let body = ServiceRemoved(printer, reason: reason, seenFor: .milliseconds(1))
        #expect(body.message.hasSuffix(": \(reason.rawValue)"))
        let value = try JSONValue(parsing: Array(try hub().draft(body).json))
        #expect(value["removed"]?["seen_for_seconds"]?.double == 0.001)
    }

    @Test func `a cause that was told before is pointed to, without its words`() throws {
        let cause = EventCause(kind: "resume", source: "timerfd", sleptSeconds: 3.5)
        #expect(
            try OrderedJSONEncoder().string(cause) == #"{"kind":"resume","source":"timerfd","slept_seconds":3.5}"#
        )
        #expect(try OrderedJSONEncoder().string(cause.pointing(to: 7)) == #"{"kind":"resume","seq":7}"#)
        #expect(cause.pointing(to: 7) == EventCause(kind: "resume").pointing(to: 7))
    }

    @Test func `no body uses a key of the envelope`() throws {
        let envelope: Set<String> = ["time", "seq", "stream", "schema", "event", "severity", "host", "message"]
        for example in Example.all {
            let keys = try JSONValue(parsing: "{" + example.data).object?.keys ?? []
            #expect(!keys.isEmpty && envelope.isDisjoint(with: keys), "\(example.summary)")
        }
    }
}
