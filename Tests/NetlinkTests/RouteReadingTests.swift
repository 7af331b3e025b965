// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
@testable import Netlink
import Testing

/// Reading whole tables for explanations, by a kernel that answers what no real one does on demand.
@Suite struct RouteReadingTests {
    private static func route(_ prefix: [UInt8], _ length: UInt8, type: UInt8 = 7, table: UInt8 = 254) -> Builder {
        let route = Builder.route(length: length, table: table, type: type)
        return prefix.isEmpty ? route : route.attribute(1, prefix)
    }

    @Test func `the kernel is asked for one type, and wanted routes are kept`() throws {
        let kernel = FakeKernel([
            .getRoute: [
                .messages(
                    24,
                    [Self.route([], 0), Self.route([10, 0, 0, 0], 8), Builder([2]), Self.route([], 0, table: 9)]
                )
            ]
        ])
        let routes = try kernel.routes(.ipv4, type: .unreachable) { $0.destination.length == 0 }
        #expect(routes.values.map(\.answer.table) == [254, 9])
        #expect(routes.undecodable == 1 && routes.isConsistent && routes.isComplete)
        #expect(kernel.asked.map { $0.body[7] } == [7])
        _ = try kernel.routes(.ipv6, type: nil)
        #expect(kernel.asked.last?.body.prefix(8) == [10, 0, 0, 0, 0, 0, 0, 0])
    }

    @Test func `a table over the limit is cut, and says so`() throws {
        let kernel = FakeKernel([.getRoute: [.messages(24, (0..<9).map { Self.route([10, $0, 0, 0], 16) })]])
        let routes = try kernel.routes(.ipv4, type: nil, limit: 4)
        #expect(routes.values.count == 4 && !routes.isComplete && kernel.handedOver == 4)
        let whole = try kernel.routes(.ipv4, type: nil, limit: 10)
        #expect(whole.values.count == 9 && whole.isComplete)
    }

    @Test func `a table that changed meanwhile says so, and a refusal is thrown`() throws {
        let torn = FakeKernel([.getRoute: [.messages(24, [Self.route([], 0)], isTorn: true)]])
        let routes = try torn.routes(.ipv4, type: nil)
        #expect(!routes.isConsistent && routes.values.count == 1)
        #expect(throws: NetlinkError.notPermitted(request: MessageType(rawValue: 26))) {
            try FakeKernel([.getRoute: [.error(1)]]).routes(.ipv4, type: nil)
        }
    }
}

/// Recordings with outcomes and times that a live one seldom has.
@Suite struct RecordedOutcomeTests {
    private func kernel(_ frames: String) throws -> RecordedKernel {
        RecordedKernel(try NetlinkRecording(bytes: Array("nwpath-recording 1\n\(frames)".utf8)))
    }

    private static let links =
        "18:768:" + Question.links.body.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()

    private static func link(_ index: UInt8) -> String {
        let body = Builder.link(index: Int32(index)).attribute(3, "v\(index)").bytes
        return "1000" + body.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    @Test func `a dump that was torn is torn again, and asked for five times`() throws {
        let torn = try kernel("ask 1 \(Self.links) torn \(Self.link(2))\n")
        let links = try torn.links()
        #expect(links.values.map(\.name) == ["v2"] && !links.isConsistent)
        let mended = try kernel(
            "ask 1 \(Self.links) torn \(Self.link(2))\nask 2 \(Self.links) ok \(Self.link(2)),\(Self.link(3))\n"
        )
        #expect(try mended.links() == Dump([Link(index: 2, name: "v2", mtu: 0), Link(index: 3, name: "v3", mtu: 0)]))
    }

    @Test func `refusals are thrown as they were`() throws {
        #expect(throws: NetlinkError.notPermitted(request: MessageType(rawValue: 18))) {
            try kernel("ask 1 \(Self.links) error=1 \n").links()
        }
        #expect(throws: NetlinkError.refused(request: MessageType(rawValue: 18), code: 105, detail: nil)) {
            try kernel("ask 1 \(Self.links) error=105 \n").links()
        }
    }

    @Test func `what comes next is told by kind and time`() throws {
        let kernel = try kernel("ask 5 \(Self.links) ok \nlost 7\nask 8 \(Self.links) ok \nevent 9 \nend 9\n")
        #expect(kernel.nextLoss == .nanoseconds(7))
        #expect(kernel.advance() == .resync(boot: .nanoseconds(7)))
        #expect(kernel.nextLoss == nil)
        #expect(kernel.nextTime == .nanoseconds(9))
        #expect(kernel.next() == .end(boot: .nanoseconds(9)))
        #expect(kernel.nextLoss == nil && kernel.advance() == nil)
    }

    @Test func `times that go back do not move the replay back`() throws {
        let kernel = try kernel("lost 900\nlost 100\nend 950\n")
        #expect(kernel.next() == .resync(boot: .nanoseconds(900)))
        _ = kernel.next()
        #expect(kernel.now == .nanoseconds(900))
    }

    @Test func `without a start the calendar is the time since boot`() throws {
        let recording = try NetlinkRecording(bytes: Array("nwpath-recording 1\nlost 5\n".utf8))
        #expect(recording.wall(at: .nanoseconds(77)).nanoseconds == 77)
    }
}
