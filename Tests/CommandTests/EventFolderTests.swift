// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import TestSupport
import Testing

@testable import nwpath

/// Events of one cause as one line.
@Suite struct EventFolderTests {
    private static func event(_ seq: Int, _ name: String, _ members: String = "") throws -> JSONValue {
        try JSONValue(parsing: #"{"seq":\#(seq),"event":"\#(name)","message":"\#(name) \#(seq)"\#(members)}"#)
    }

    private static func cause(_ seq: Int) -> String { #","cause":{"kind":"link","seq":\#(seq)}"# }

    private static let link = #","interface":{"name":"eth0"},"cause":{"kind":"link","source":"rtnetlink"}"#

    private static func gateway(_ address: String, isGone: Bool) -> String {
        let (now, before) = isGone ? ("null", #"{"address":"\#(address)"}"#) : (#"{"address":"\#(address)"}"#, "null")
        return #","gateway":\#(now),"previous":\#(before)"#
    }

    private static func service(_ name: String, on interface: String = "eth0") -> String {
        #","service":{"name":"\#(name)","type":"_ssh._tcp","interface":{"name":"\#(interface)"}}"#
    }

    /// A cable that is pulled, as the daemon tells it.
    private static func burst() throws -> [JSONValue] {
        [
            try event(9, "interface.changed", link), try event(10, "path.changed", cause(9)),
            try event(11, "gateway.changed", gateway("192.0.2.1", isGone: true) + cause(9)),
            try event(12, "gateway.changed", gateway("fe80::1", isGone: true) + cause(9)),
            try event(13, "dns.changed", cause(9)), try event(14, "service.removed", service("a")),
            try event(15, "services.lost", #","interface":{"name":"eth0"},"count":30"# + cause(9)),
        ]
    }

    @Test func `what a path's record says counts, without records of its parts`() throws {
        var folder = EventFolder()
        let members =
            #","cause":{"kind":"link"},"path":{"gateways":[],"supports_dns":false,"interfaces":[]}"#
            + #","previous":{"gateways":["192.0.2.1","fe80::1%eth0"],"supports_dns":true,"interfaces":[{"name":"eth0"}]}"#
        let path = try Self.event(9, "path.changed", members)
        #expect(folder.add(path, at: .zero) == [.opening(path)])
        let lost = try Self.event(10, "services.lost", #","interface":{"name":"eth0"},"count":30"# + Self.cause(9))
        for event in [lost, try Self.offline(11)] { #expect(folder.add(event, at: .zero) == []) }
        #expect(folder.finish() == [.rest(": no Internet (2 gateways, DNS and 30 services)")])
    }

    private static func offline(_ seq: Int) throws -> JSONValue {
        try event(seq, "headline.changed", #","headline":{"state":"no_internet"}"#)
    }

    @Test func `what a pulled cable brings about is one line, begun at once`() throws {
        var folder = EventFolder()
        let events = try Self.burst()
        #expect(folder.add(events[0], at: .seconds(5)) == [.opening(events[0])])
        for event in events.dropFirst() { #expect(folder.add(event, at: .milliseconds(5010)) == []) }
        #expect(folder.add(try Self.offline(17), at: .milliseconds(6020)) == [])
        #expect(folder.settle(at: .milliseconds(7490)) == [])
        #expect(
            folder.settle(at: .milliseconds(7500)) == [.rest(": no Internet (2 gateways, DNS and 31 services)")]
        )
        #expect(folder.settle(at: .seconds(9)) == [] && folder.finish() == [])
    }

    @Test func `another event ends the line, and stands alone`() throws {
        var folder = EventFolder()
        let (events, other) = (try Self.burst(), try Self.event(18, "probe.failed"))
        for event in events.prefix(2) { _ = folder.add(event, at: .zero) }
        #expect(folder.add(other, at: .milliseconds(20)) == [.rest(": path.changed 10"), .line(other)])
        #expect(folder.add(other, at: .milliseconds(30)) == [.line(other)])
    }

    @Test func `a line without followers ends as it is, and a cause of its own begins another`() throws {
        var folder = EventFolder()
        let first = try Self.event(1, "interface.added", Self.link)
        let second = try Self.event(2, "route.changed", Self.link)
        #expect(folder.add(first, at: .zero) == [.opening(first)])
        #expect(folder.add(second, at: .milliseconds(1)) == [.rest(""), .opening(second)])
        #expect(folder.finish() == [.rest("")])
    }

    @Test func `services of other interfaces, second headlines and what comes late stand alone`() throws {
        var folder = EventFolder()
        let events = try Self.burst()
        let strangers = [try Self.event(20, "service.removed", Self.service("c", on: "wlan0")), try Self.offline(21)]
        _ = folder.add(events[0], at: .zero)
        #expect(folder.add(strangers[0], at: .zero) == [.rest(""), .line(strangers[0])])
        _ = folder.add(events[0], at: .zero)
        #expect(folder.add(try Self.offline(19), at: .seconds(1)) == [])
        #expect(folder.add(strangers[1], at: .seconds(1)) == [.rest(": no Internet"), .line(strangers[1])])
        _ = folder.add(events[0], at: .seconds(1))
        #expect(folder.add(events[2], at: .seconds(4)) == [.rest(""), .line(events[2])])
    }

    @Test func `a clock that goes back ends a line of the past`() throws {
        var folder = EventFolder()
        let events = try Self.burst()
        _ = folder.add(events[0], at: .seconds(100))
        #expect(folder.add(events[1], at: .seconds(50)) == [.rest(""), .line(events[1])])
    }

    @Test func `the same thing counts once, and the first path is the one that is told`() throws {
        var folder = EventFolder()
        _ = folder.add(try Self.burst()[0], at: .zero)
        let default_ = try JSONValue(
            parsing: #"{"seq":2,"event":"path.changed","message":"Path default moved to wwan0"\#(Self.cause(9))}"#
        )
        for event in [
            default_, try Self.event(3, "path.changed", Self.cause(9)),
            try Self.event(4, "gateway.changed", Self.gateway("192.0.2.1", isGone: true) + Self.cause(9)),
            try Self.event(5, "gateway.changed", Self.gateway("192.0.2.1", isGone: false) + Self.cause(9)),
            try Self.event(6, "address.removed", #","address":{"address":"192.0.2.2"}"# + Self.cause(9)),
            try Self.event(7, "address.removed", #","address":{"address":"fe80::2"}"# + Self.cause(9)),
        ] { #expect(folder.add(event, at: .zero) == []) }
        #expect(folder.finish() == [.rest(": moved to wwan0 (2 addresses and 1 gateway)")])
    }
}
