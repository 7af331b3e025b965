// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import LinuxIO
@testable import MulticastDNS
import OrderedJSON
import TestSupport
import Testing

@testable import nwpath

/// What a browse may tell in these tests.
private enum Told {
    static func announcement(_ name: String = "Lamp") throws -> ServiceAnnouncement {
        ServiceAnnouncement(
            instance: try DomainName(labels: [name, "_a", "_tcp", "local"].map { Array($0.utf8) }),
            name: name,
            type: "_a._tcp",
            domain: "local",
            subtypes: ["_x"],
            interface: "eth0",
            interfaceIndex: 2
        )
    }

    static func service(_ name: String = "Lamp", port: UInt16 = 80) throws -> MulticastDNS.Service {
        let announcement = try announcement(name)
        return MulticastDNS.Service(
            instance: announcement.instance,
            name: name,
            type: "_a._tcp",
            domain: "local",
            interface: "eth0",
            interfaceIndex: 2,
            host: "lamp.local",
            port: port,
            addresses: [ScopedAddress(.v4(0xC000_0201)), ScopedAddress(.v6(0xFE80 << 112 | 1), scope: "eth0")],
            text: [
                TextRecord.Entry(key: "k", value: Array("\u{1B}[2J".utf8)), TextRecord.Entry(key: "flag", value: nil),
            ],
            rawText: [Array("k=\u{1B}[2J".utf8), Array("flag".utf8)],
            timeToLive: .seconds(120),
            firstSeen: .seconds(900),
            lastSeen: .seconds(1000)
        )
    }

    static func unresolved() throws -> UnresolvedService {
        let announcement = try announcement()
        return UnresolvedService(
            instance: announcement.instance,
            name: "Lamp",
            type: "_a._tcp",
            interface: "eth0",
            interfaceIndex: 2,
            missing: ["SRV"]
        )
    }
}

@Suite struct BrowseProgressTests {
    @Test func `silence ends it after two repetitions`() {
        #expect(BrowseProgress(at: .seconds(10)).end == .milliseconds(13_500))
    }

    @Test func `news late in the run make it longer, early ones do not`() throws {
        var progress = BrowseProgress(at: .zero)
        progress.record(.found(try Told.announcement()), at: .milliseconds(200))
        #expect(progress.end == nil)
        progress.record(.resolved(try Told.service()), at: .milliseconds(300))
        #expect(progress.end == .milliseconds(3500))
        progress.record(.resolved(try Told.service("Other")), at: .milliseconds(3400))
        #expect(progress.end == .milliseconds(4600))
    }

    @Test func `what was found is waited for until it is resolved, given up or lost`() throws {
        let announcement = try Told.announcement()
        let ends: [BrowseEvent] = [
            .resolved(try Told.service()), .unresolved(try Told.unresolved()),
            .lost(announcement, last: nil, reason: .goodbye, seenFor: .zero),
        ]
        for end in ends {
            var progress = BrowseProgress(at: .zero)
            progress.record(.found(announcement), at: .seconds(1))
            progress.record(.found(try Told.announcement("Second")), at: .seconds(1))
            progress.record(.resolved(try Told.service("Second")), at: .seconds(2))
            #expect(progress.end == nil)
            progress.record(end, at: .seconds(9))
            #expect(progress.end == .milliseconds(10_200))
        }
    }
}

@Suite struct BrowseLineTests {
    private let clock = ManualClock()
    private var renderer: TextRenderer { TextRenderer(now: clock.wall) }

    @Test func `every event is an object, and a line that no name can break`() throws {
        let announcement = try Told.announcement()
        let (service, before) = (try Told.service(), try Told.service(port: 81))
        let table: [(BrowseEvent, String, String)] = [
            (.found(announcement), "found", "+ _a._tcp  Lamp  eth0  _x"),
            (.resolved(service), "resolved", "= _a._tcp  Lamp  eth0  lamp.local:80 192.0.2.1 fe80::1%eth0"),
            (
                .changed(service, fields: [.port], previous: before), "changed",
                "~ _a._tcp  Lamp  eth0  lamp.local:80 192.0.2.1 fe80::1%eth0"
            ),
            (.unresolved(try Told.unresolved()), "unresolved", "! _a._tcp  Lamp  eth0  no SRV"),
            (
                .lost(announcement, last: service, reason: .expired, seenFor: .seconds(7)), "lost",
                "- _a._tcp  Lamp  eth0  expired"
            ),
            (
                .lost(announcement, last: nil, reason: .interfaceDown, seenFor: .zero), "lost",
                "- _a._tcp  Lamp  eth0  interface_down"
            ),
        ]
        for (event, name, line) in table {
            let object = BrowseLine.object(event, clock: clock)
            #expect(object["event"]?.string == name && object["time"]?.string == "\(clock.wall)")
            #expect(object["service"]?["interface"]?["name"]?.string == "eth0")
            #expect(BrowseLine.text(object, renderer: renderer) == line)
            let bytes = try Screen.line(object)
            #expect(bytes.last == 0x0A && bytes.dropLast().allSatisfy { $0 >= 0x20 })
        }
    }

    @Test func `a resolved service has its texts as pairs and raw, a change what was, a loss why`() throws {
        let service = try Told.service()
        let resolved = BrowseLine.object(.resolved(service), clock: clock)["service"]
        #expect(resolved?["txt"]?["flag"] == .null && resolved?["txt"]?["k"]?.string == "\u{1B}[2J")
        #expect(resolved?["txt_raw"]?[0]?.string == "k=\\027[2J")
        let change = BrowseEvent.changed(service, fields: [.port, .addresses], previous: try Told.service(port: 81))
        let changed = BrowseLine.object(change, clock: clock)
        #expect(changed["changed"] == .array([.string("port"), .string("addresses")]))
        #expect(changed["previous"]?["port"]?.int == 81 && changed["previous"]?["addresses"]?.array?.count == 2)
        let loss = BrowseEvent.lost(try Told.announcement(), last: nil, reason: .goodbye, seenFor: .seconds(7))
        let lost = BrowseLine.object(loss, clock: clock)
        #expect(lost["removed"]?["reason"]?.string == "goodbye" && lost["removed"]?["seen_for_seconds"]?.int == 7)
    }
}
