// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Documents
import Diagnosis
import LinuxIO
import OrderedJSON
import PathModel
import TestSupport
import Testing

@Suite struct PathDocumentTests {
    @Test func `a path that works shows everything that leads out`() throws {
        let expected = """
            {
              "status": "satisfied",
              "unsatisfied_reason": null,
              "interfaces": [
                {
                  "name": "eth0",
                  "index": 2,
                  "type": "wiredEthernet"
                },
                {
                  "name": "wwan0",
                  "index": 5,
                  "type": "cellular"
                }
              ],
              "is_expensive": false,
              "is_constrained": false,
              "supports_ipv4": true,
              "supports_ipv6": true,
              "supports_dns": true,
              "gateways": [
                "192.0.2.1",
                "fe80::1%eth0"
              ],
              "is_ultra_constrained": false,
              "link_quality": "good",
              "sources": [
                "192.0.2.10",
                "2001:db8::10"
              ],
              "underlying_types": [],
              "warnings": [],
              "path_id": "\(Sample.satisfied.pathId)",
              "message": null,
              "hint": null
            }
            """
        #expect(try pretty(PathDocument(Sample.satisfied)) == expected)
    }

    @Test func `a path that does not work says why and what to do`() throws {
        let expected = """
            {
              "status": "unsatisfied",
              "unsatisfied_reason": "no_carrier",
              "interfaces": [],
              "is_expensive": false,
              "is_constrained": false,
              "supports_ipv4": false,
              "supports_ipv6": false,
              "supports_dns": false,
              "gateways": [],
              "is_ultra_constrained": false,
              "link_quality": "unknown",
              "sources": [],
              "underlying_types": [],
              "warnings": [],
              "path_id": "\(Sample.unsatisfied.pathId)",
              "message": "eth0 has no carrier",
              "hint": "check the cable, the switch port or the access point"
            }
            """
        #expect(try pretty(PathDocument(Sample.unsatisfied)) == expected)
    }

    @Test func `cost, quality and warnings are words`() throws {
        let value = try shown(PathDocument(Sample.expensive), PathDocument.form)
        #expect(value["is_expensive"] == .bool(true) && value["is_constrained"] == .bool(true))
        #expect(value["is_ultra_constrained"] == .bool(true))
        #expect(value["link_quality"] == .string("minimal"))
        #expect(value["underlying_types"] == .array([.string("cellular"), .string("wifi")]))
        #expect(value["warnings"] == .array([.string("degraded"), .string("ula_only")]))
        #expect(value["sources"] == .array([.string("198.51.100.2")]))
        #expect(value["supports_ipv6"] == .bool(false) && value["supports_dns"] == .bool(false))
    }

    @Test(arguments: UnsatisfiedReason.allCases)
    func `every reason has its word and a clause`(reason: UnsatisfiedReason) throws {
        let path = Path(status: .unsatisfied, reason: reason, subject: ReasonSubject(interface: "eth0"))
        let value = try shown(PathDocument(path), PathDocument.form)
        #expect(value["unsatisfied_reason"]?.string == reason.rawValue)
        #expect(value["message"]?.string == ReasonText(reason, path.subject).clause)
        #expect(value["hint"]?.string == ReasonText(reason, path.subject).hint)
    }

    @Test func `equal documents are of equal paths, and others have another identity`() {
        #expect(PathDocument(Sample.satisfied) == PathDocument(Sample.satisfied))
        let all = [Sample.satisfied, Sample.unsatisfied, Sample.expensive].map(PathDocument.init)
        #expect(Set(all.map(\.pathID)).count == 3)
        #expect(all.allSatisfy { $0.pathID.utf8.count == 16 })
    }
}

@Suite struct GatewayDocumentTests {
    @Test(arguments: [(true, "true"), (false, "false"), (nil, "null")] as [(Bool?, String)])
    func `a router tells whether it answers, or that nobody looks`(isReachable: Bool?, text: String) throws {
        var gateway = Sample.router
        gateway.isReachable = isReachable
        let expected =
            #"{"address":"192.0.2.1","family":"ipv4","interface":{"name":"eth0"},"metric":100,"reachable":"# + text
            + "}"
        #expect(try OrderedJSONEncoder().string(GatewayDocument(gateway)) == expected)
    }

    @Test func `a link-local router has its interface, and the family of its packets`() throws {
        var gateway = Sample.sixthRouter
        gateway.family = .ipv4
        let expected =
            #"{"address":"fe80::1%eth0","family":"ipv4","interface":{"name":"eth0"},"metric":1024,"reachable":null}"#
        #expect(try OrderedJSONEncoder().string(GatewayDocument(gateway)) == expected)
    }

    @Test func `name servers have their ports where they need one`() throws {
        let expected =
            #"{"servers":["192.0.2.53","[2001:db8::53]:5353"],"search":["example.test"],"#
            + #""source":"/etc/resolv.conf","usable":true}"#
        #expect(try OrderedJSONEncoder().string(DNSDocument(Sample.dns)) == expected)
        let nothing = #"{"servers":[],"search":[],"source":"","usable":false}"#
        #expect(try OrderedJSONEncoder().string(DNSDocument(DNSState())) == nothing)
        let unread = DNSState(problem: .unreadable(source: "f", error: "EACCES"))
        let problem = nothing.dropLast() + #","problem":"f cannot be read: EACCES"}"#
        #expect(try OrderedJSONEncoder().string(DNSDocument(unread)) == problem)
    }
}

@Suite struct StatusDocumentTests {
    private let clock = ManualClock()

    private func overview(services: OverviewDocument.Services? = nil) -> OverviewDocument {
        OverviewDocument(
            state: StateDocument("status", stream: "7f3a", seq: 46, time: clock.wall, host: "edge-17"),
            daemon: OverviewDocument.Daemon(version: "0.1.0", pid: 4120, started: clock.wall - .seconds(60)),
            headline: HeadlineEvaluator(HeadlineFacts(host: "edge-17", path: Sample.satisfied)).headline,
            headlineSince: clock.wall - .seconds(30),
            monitors: [
                MonitorDocument(
                    monitor: "default",
                    path: Sample.satisfied,
                    statusSince: clock.boot - .seconds(30),
                    clock: clock
                )
            ],
            interfaces: [InterfaceDocument(Sample.interface(), at: clock.boot)],
            path: Sample.satisfied,
            services: services,
            problems: [ProblemDocument(part: "log", message: "the disk is full")]
        )
    }

    @Test func `a monitor says since when its status stands, and its verdict in words`() throws {
        let document = MonitorDocument(
            monitor: "wired",
            path: Sample.unsatisfied,
            statusSince: clock.boot - .milliseconds(1500),
            clock: clock
        )
        let value = try shown(document, MonitorDocument.form)
        #expect(value.object?.keys == ["monitor", "path", "since", "message"])
        #expect(value["since"]?.string == "2026-11-20T11:59:58.500000000Z")
        #expect(value["message"]?.string == "Path wired is unsatisfied: eth0 has no carrier")
        #expect(value["path"]?["status"]?.string == "unsatisfied")
    }

    @Test func `the overview begins with its schema and what it is as new as`() throws {
        let value = try shown(overview(), OverviewDocument.form)
        #expect(
            value.object?.keys == [
                "schema", "stream", "seq", "time", "host", "daemon", "headline", "chain", "chains", "path", "since",
                "message", "monitors", "interfaces", "gateways", "dns", "problems",
            ]
        )
        #expect(value["schema"]?.string == "nwpath.status/1")
        #expect(value["stream"]?.string == "7f3a" && value["seq"]?.int == 46 && value["host"]?.string == "edge-17")
        #expect(value["time"]?.string == "2026-11-20T12:00:00.000000000Z")
        #expect(value["daemon"]?["started"]?.string == "2026-11-20T11:59:00.000000000Z")
        #expect(value["daemon"]?["pid"]?.int == 4120 && value["daemon"]?["version"]?.string == "0.1.0")
    }

    @Test func `since and message of the overview are those of the first monitor`() throws {
        let value = try shown(overview(), OverviewDocument.form)
        #expect(value["since"] == value["monitors"]?[0]?["since"])
        #expect(value["message"]?.string == "Path default is satisfied via eth0")
        #expect(value["path"] == value["monitors"]?[0]?["path"])
        #expect(value["gateways"]?.array?.count == 2)
        #expect(value["gateways"]?[1]?["address"]?.string == "fe80::1%eth0")
        #expect(value["dns"]?["usable"] == .bool(true))
        #expect(value["problems"]?[0] == (try JSONValue(parsing: #"{"part":"log","message":"the disk is full"}"#)))
        #expect(value["interfaces"]?[0]?["name"]?.string == "eth0")
    }

    @Test(
        arguments: [
            (nil, #"{"count":9,"types":3,"last_census":null}"#),
            (
                WallTime(nanoseconds: 1_795_176_000_000_000_000),
                #"{"count":9,"types":3,"last_census":"2026-11-20T12:00:00.000000000Z"}"#
            ),
        ] as [(WallTime?, String)]
    )
    func `a census is shown where there is one`(last: WallTime?, expected: String) throws {
        let services = OverviewDocument.Services(count: 9, types: 3, lastCensus: last)
        let value = try shown(overview(services: services), OverviewDocument.form)
        #expect(value["services"] == (try JSONValue(parsing: expected)))
        #expect(value.object?.keys.suffix(2) == ["services", "problems"])
        #expect(try shown(overview(), OverviewDocument.form)["services"] == nil)
    }

    @Test func `without a monitor the overview still has a time`() throws {
        let document = OverviewDocument(
            state: StateDocument("status", stream: "7f3a", seq: 0, time: clock.wall, host: "h"),
            daemon: OverviewDocument.Daemon(version: "", pid: 1, started: clock.wall),
            headline: HeadlineEvaluator(HeadlineFacts(host: "h", path: Path())).headline,
            headlineSince: clock.wall,
            monitors: [],
            interfaces: [],
            path: Path(),
            services: nil,
            problems: []
        )
        let value = try shown(document, OverviewDocument.form)
        #expect(value["since"] == value["time"])
        #expect(value["message"]?.string == "")
        #expect(value["path"]?["unsatisfied_reason"]?.string == "no_interface")
    }
}
