// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import TestSupport
import Testing

@testable import Traffic

/// Situations of real networks in which answers, or their absence, mean something else.
@Suite(.computing) struct MisleadingTrafficTests {
    private static let hosts = (0..<4).map { Simulation.host($0) }

    private func attempt(_ simulation: Simulation, _ host: IPAddress) -> TCPConnection {
        var connection = simulation.answered(host)
        connection.state = .synSent
        (connection.retransmissions, connection.backoff, connection.timeout) = (2, 2, 4_000_000)
        (connection.lastSent, connection.lastAcknowledged, connection.lastReceived) = (.max, .max, .max)
        (connection.roundTrip, connection.source, connection.timeLeft) = (0, .v4(0x0A00_000B), 4000)
        return connection
    }

    @Test func `a refusal, which may come from a filter on the way, is no answer`() {
        var simulation = Simulation()
        _ = simulation.read(Self.hosts.map { simulation.answered($0) })
        _ = simulation.read(Self.hosts.map { simulation.waiting($0, since: 450, timeouts: 1) }, after: 500)
        #expect(simulation.report.total.state == .stalled)
        var refused = simulation.answered(Self.hosts[0], 4_297_684)
        (refused.state, refused.roundTrip, refused.segmentsReceived) = (.closed, 0, 1)
        simulation.tracker.end(refused, at: .milliseconds(simulation.now), route: simulation.path)
        #expect(simulation.read(Self.hosts.map { simulation.waiting($0, since: 700, timeouts: 2) }).isEmpty)
        #expect(simulation.report.total.state == .stalled)
    }

    @Test func `after a change to an uplink that is dead, attempts to destinations of before accuse it`() throws {
        var simulation = Simulation()
        _ = simulation.read(Self.hosts.map { simulation.answered($0) })
        simulation.gateway = .v4(0x0A00_0002)
        simulation.tracker.routesChanged(at: .milliseconds(simulation.now))
        let moved = { (simulation: Simulation, age: Int) in
            Self.hosts.map { simulation.waiting($0, since: age, answer: 150, timeouts: 2) }
        }
        #expect(simulation.read(moved(simulation, 900), after: 1000).isEmpty)
        // They are still there, and are read again.
        let path = try #require(simulation.report.paths.first { $0.path.gateway == simulation.gateway })
        #expect(path.figures.connections == 4 && path.figures.state == .unknown)
        // Those that began before use the same path now.
        let before = Self.hosts.map { attempt(simulation, $0) }
        #expect(simulation.read(moved(simulation, 1400) + before, after: 500).isEmpty)
        let attempts = Self.hosts.map { attempt(simulation, $0) }
        let found = simulation.read(moved(simulation, 3900) + attempts, after: 3000)
        guard case .stalled(let finding) = try #require(found.first), found.count == 1 else {
            Issue.record("\(found)")
            return
        }
        #expect(finding.path.gateway == simulation.gateway && finding.destination == nil)
    }

    @Test func `hosts on the link do not hide an outage of hosts of the same prefix beyond the gateway`() throws {
        var simulation = Simulation()
        simulation.onLink = Set((1...3).map { Simulation.host(7, 100 + $0) })
        let near = simulation.onLink.map { $0 }
        let far = (0..<3).map { Simulation.host(7 + $0, 1) }
        _ = simulation.read((near + far).map { simulation.answered($0) })
        #expect(simulation.report.paths.map(\.path.gateway).count == 2)
        let cut = far.map { simulation.waiting($0, since: 450, timeouts: 1) }
        let found = simulation.read(near.map { simulation.answered($0) } + cut, after: 500)
        guard case .stalled(let finding) = try #require(found.first), found.count == 1 else {
            Issue.record("\(found)")
            return
        }
        #expect(finding.path.gateway == Simulation.gateway && finding.destination == nil)
    }

    @Test func `a page for logging in that answers port 80 does not hide that all else is dead`() {
        var simulation = Simulation()
        func page(_ age: Int) -> TCPConnection {
            var connection = simulation.answered(Self.hosts[3], age)
            connection.destinationPort = 80
            return connection
        }
        let others = Array(Self.hosts.prefix(3))
        _ = simulation.read(others.map { simulation.answered($0) } + [page(20)])
        for round in 1...8 {
            let timeouts = [612, 1428].count { 250 * round >= $0 } + 1
            let waiting = others.map { simulation.waiting($0, since: 250 * round, timeouts: timeouts) }
            _ = simulation.read(waiting + [page(20)])
        }
        #expect(simulation.changes.count == 1 && simulation.report.total.state == .stalled)
        _ = simulation.read(others.map { simulation.answered($0) })
        guard case .resumed? = simulation.changes.last, simulation.changes.count == 2 else {
            Issue.record("\(simulation.changes)")
            return
        }
    }

    @Test func `a download from port 80 shows that other connections wait in its queue`() {
        var simulation = Simulation()
        func download() -> TCPConnection {
            var connection = simulation.answered(Self.hosts[3], 20, cookie: 80)
            connection.destinationPort = 80
            return connection
        }
        let idle = Array(Self.hosts.prefix(3))
        for _ in 1...4 { _ = simulation.read(idle.map { simulation.answered($0, 900) } + [download()], after: 1000) }
        for round in 1...4 {
            let timeouts = 250 * round >= 612 ? 2 : 1
            let waiting = idle.map { simulation.waiting($0, since: 250 * round, answer: 900, timeouts: timeouts) }
            #expect(simulation.read(waiting + [download()]).allSatisfy { $0.finding.destination != nil })
        }
    }

    @Test func `answers to others from before it waited do not show that others answer`() throws {
        var simulation = Simulation()
        _ = simulation.read([simulation.answered(Self.hosts[0], 30_000), simulation.answered(Self.hosts[1], 10_000)])
        var found: [TrafficChange] = []
        for round in 1...12 where found.isEmpty {
            let timeouts = [612, 1428].count { 250 * round >= $0 } + 1
            let waiting = simulation.waiting(Self.hosts[0], since: 250 * round, answer: 30_000, timeouts: timeouts)
            found = simulation.read([waiting, simulation.answered(Self.hosts[1], 10_000 + 250 * round)])
        }
        let finding = try #require(found.first?.finding)
        #expect(finding.destination != nil && !finding.othersAnswer)
    }

    @Test func `servers on port 80 alone accuse a path only while no other of them is answered`() {
        var simulation = Simulation()
        func web(_ connection: TCPConnection) -> TCPConnection {
            var connection = connection
            connection.destinationPort = 80
            return connection
        }
        let old = simulation.answered(Self.hosts[0], 60_000)
        _ = simulation.read([old] + Self.hosts.map { web(simulation.answered($0)) })
        for round in 1...8 {
            let dead = Self.hosts.prefix(3).map { web(simulation.waiting($0, since: 250 * round, timeouts: 1)) }
            let found = simulation.read(dead + [web(simulation.answered(Self.hosts[3]))])
            #expect(found.allSatisfy { $0.finding.destination != nil })
        }
    }

    @Test func `what was sent again on a dead uplink is no loss of the one that is used again`() {
        var simulation = Simulation()
        func busy(_ segments: UInt32, again: UInt32, _ age: Int = 20) -> [TCPConnection] {
            Self.hosts.enumerated().map { index, host in
                var connection = simulation.answered(host, age, cookie: UInt64(index + 10))
                (connection.segments, connection.retransmitted) = (segments, again)
                return connection
            }
        }
        for step in 1...4 { _ = simulation.read(busy(UInt32(step) * 100, again: 0)) }
        simulation.gateway = .v4(0x0A00_0002)
        simulation.tracker.routesChanged(at: .milliseconds(simulation.now))
        for step in 1...8 { _ = simulation.read(busy(400 + UInt32(step), again: UInt32(step), 250 * step + 20)) }
        simulation.gateway = Simulation.gateway
        simulation.tracker.routesChanged(at: .milliseconds(simulation.now))
        for step in 1...40 { _ = simulation.read(busy(410 + UInt32(step) * 10, again: 10), after: 250) }
        #expect(simulation.report.paths.first { $0.path.gateway == Simulation.gateway }?.figures.loss ?? 0 < 0.001)
    }

    @Test func `clients of a server that was stopped are still clients`() {
        var simulation = Simulation()
        let clients = { (make: (IPAddress) -> TCPConnection) in
            Self.hosts.enumerated().map { index, host in
                var connection = Simulation.inbound(make(host))
                connection.cookie = UInt64(index + 10)
                return connection
            }
        }
        _ = simulation.read([Simulation.listening] + clients { simulation.answered($0) })
        _ = simulation.read(clients { simulation.answered($0) })
        for round in 1...20 {
            let left = clients { simulation.waiting($0, since: 450 + 250 * round, timeouts: min(round, 5)) }
            #expect(simulation.read(left).isEmpty)
        }
    }

    @Test func `one destination that is the only one in use is told apart from one beside others`() throws {
        for isAlone in [true, false] {
            var simulation = Simulation()
            let host = Self.hosts[0]
            let others = isAlone ? [] : [Self.hosts[1]]
            var found: [TrafficChange] = []
            _ = simulation.read(([host] + others).map { simulation.answered($0) })
            for round in 1...12 where found.isEmpty {
                let timeouts = [612, 1428].count { 250 * round >= $0 } + 1
                let waiting = simulation.waiting(host, since: 250 * round, timeouts: timeouts)
                found = simulation.read([waiting] + others.map { simulation.answered($0) })
            }
            let finding = try #require(found.first?.finding)
            #expect(finding.destination != nil && finding.othersAnswer != isAlone)
            let standing = simulation.tracker.standing(at: .milliseconds(simulation.now))
            #expect(standing.last?.finding.othersAnswer != isAlone)
            #expect(simulation.tracker.isTroubled && simulation.tracker.isTransient)
        }
    }

    @Test func `attempts to ports that never answered accuse nobody, not even beside rare answers`() {
        var simulation = Simulation()
        _ = simulation.read(Self.hosts.map { simulation.answered($0) })
        for round in 0..<40 {
            let attempts = Self.hosts.map { host in
                var connection = attempt(simulation, host)
                connection.destinationPort = 9
                return connection
            }
            let idle = Self.hosts.map { simulation.answered($0, round * 250 % 1000 + 250) }
            #expect(simulation.read(idle + attempts).isEmpty)
        }
    }

    @Test func `more endpoints than are remembered do not hide an outage of those that are`() {
        var simulation = Simulation()
        let many = (0..<10_000).map { simulation.answered(Self.hosts[$0 % 4], cookie: UInt64($0 + 10)) }
        let others = many.enumerated().map { index, connection in
            var connection = connection
            connection.destinationPort = UInt16(1000 + index)
            return connection
        }
        _ = simulation.read(Self.hosts.map { simulation.answered($0) } + others)
        _ = simulation.read(others, after: 1000)
        let attempts = Self.hosts.map { attempt(simulation, $0) }
        #expect(simulation.read(attempts, after: 3900).count == 1)
    }

    @Test func `an idle connection does not make a port forgotten that answers another one`() {
        var simulation = Simulation()
        simulation.now = 1_000_000
        _ = simulation.read(
            Self.hosts.map { simulation.answered($0) } + Self.hosts.map { simulation.answered($0, 700_000, cookie: 7) }
        )
        let attempts = Self.hosts.map { attempt(simulation, $0) }
        #expect(simulation.read(attempts, after: 3900).count == 1)
    }

    @Test func `an attempt began when it was sent first, not when it is read`() {
        var simulation = Simulation()
        _ = simulation.read(Self.hosts.map { simulation.answered($0) })
        for left in stride(from: 3750, to: 0, by: -250) {
            let attempts = Self.hosts.map { host in
                var connection = attempt(simulation, host)
                connection.timeLeft = UInt32(left)
                return connection
            }
            // What was answered 1.8 s ago was so after the attempts began.
            #expect(simulation.read(Self.hosts.map { simulation.answered($0, 1800) } + attempts).isEmpty)
        }
    }

    @Test(arguments: [0, 5000])
    func `a long outage stands while connections wait or are attempted, beside many endpoints`(others: Int) {
        var simulation = Simulation()
        let many = (0..<others).map { index in
            var connection = simulation.answered(Self.hosts[index % 4], cookie: UInt64(index + 10))
            connection.destinationPort = UInt16(1000 + index)
            return connection
        }
        _ = simulation.read(Self.hosts.map { simulation.answered($0) } + many)
        _ = simulation.read(Self.hosts.map { simulation.waiting($0, since: 450, timeouts: 1) }, after: 500)
        for minute in 1...20 {
            let waiting = Self.hosts.map { host in
                var connection = simulation.waiting(host, since: 100, answer: minute * 60_000, timeouts: 10)
                connection.timeout = 120_000_000
                connection.lastSent = 30_000
                return connection
            }
            let attempts = Self.hosts.map { attempt(simulation, $0) }
            #expect(simulation.read(minute % 2 == 0 ? waiting : attempts, after: 60_000).isEmpty)
            #expect(simulation.report.total.state == .stalled)
        }
    }

    @Test func `destinations that stalled before their path end by themselves`() {
        var simulation = Simulation()
        let dead = (1...3).map { Simulation.host(0, $0) }
        let others = Array(Self.hosts.dropFirst())
        _ = simulation.read((dead + others).map { simulation.answered($0) })
        for round in 1...4 {
            _ = simulation.read(
                dead.map { simulation.waiting($0, since: 250 * round, timeouts: 1) }
                    + others.map { simulation.answered($0) }
            )
        }
        let cut = dead.map { simulation.waiting($0, since: 1500, timeouts: 2) }
        _ = simulation.read(cut + others.map { simulation.waiting($0, since: 450, timeouts: 1) }, after: 500)
        _ = simulation.read((dead + others).map { simulation.answered($0) })
        let names = simulation.changes.map { change in
            let scope = change.finding.destination == nil ? "path" : "destination"
            return switch change {
            case .stalled: "\(scope) stalled"
            case .resumed: "\(scope) resumed"
            default: "\(scope) other"
            }
        }
        #expect(names == ["destination stalled", "path stalled", "path resumed", "destination resumed"])
    }

    @Test func `what was sent again by connections that began in an outage is no loss after it`() {
        var simulation = Simulation()
        _ = simulation.read(Self.hosts.map { simulation.answered($0) })
        _ = simulation.read(Self.hosts.map { simulation.waiting($0, since: 450, timeouts: 1) }, after: 500)
        for second in 1...20 {
            let connections = Self.hosts.enumerated().map { index, host in
                var connection = simulation.answered(host, cookie: UInt64(1000 + index + second / 5 * 10))
                connection.segments = UInt32(second % 5 * 60 + 20)
                connection.retransmitted = 5
                return connection
            }
            _ = simulation.read(connections, after: 1000)
        }
        #expect(simulation.changes.count == 2, "\(simulation.changes)")
    }

    @Test func `routes are looked up again before somebody is accused, and names may change`() {
        var simulation = Simulation()
        _ = simulation.read(Self.hosts.map { simulation.answered($0) })
        // More specific routes were added, which is not reported.
        simulation.gateway = .v4(0x0A00_0002)
        for round in 1...8 {
            let connections = Self.hosts.map { simulation.waiting($0, since: 250 * round, timeouts: min(round, 3)) }
            #expect(simulation.read(connections, after: round == 1 ? 1250 : 250).isEmpty)
        }
    }

    @Test func `more paths than there is room for make room after a while`() {
        var simulation = Simulation()
        for number in 0..<300 {
            simulation.gateway = .v4(0x0A01_0000 + UInt32(number))
            simulation.tracker.routesChanged(at: .milliseconds(simulation.now))
            _ = simulation.read([simulation.answered(Self.hosts[0])], after: 10_000)
            #expect(simulation.report.total.connections == 1, "\(number)")
        }
        #expect(simulation.tracker.paths.count == TrafficTracker.mostPaths)
    }

    @Test func `a path that all connections left when routes changed is unknown at once`() throws {
        var simulation = Simulation()
        _ = simulation.read(Self.hosts.map { simulation.answered($0) })
        _ = simulation.read(Self.hosts.map { simulation.waiting($0, since: 450, timeouts: 1) }, after: 500)
        simulation.gateway = .v4(0x0A00_0002)
        simulation.now += 1
        simulation.tracker.routesChanged(at: .milliseconds(simulation.now))
        let found = simulation.read(Self.hosts.map { simulation.answered($0) }, after: 1000)
        guard case .unknown(let finding, _) = try #require(found.first), found.count == 1 else {
            Issue.record("\(found)")
            return
        }
        #expect(finding.path.gateway == Simulation.gateway && simulation.report.total.state == .proved)
    }

    @Test func `a few clients that all left accuse nobody, many do`() {
        for count in [3, 7, 8] {
            var simulation = Simulation()
            let (listening, inbound) = (Simulation.listening, Simulation.inbound)
            let idle = (0..<8).map { inbound(simulation.answered(Simulation.host($0), 500)) }
            _ = simulation.read([listening] + idle)
            let gone = idle.prefix(count).map {
                inbound(simulation.waiting($0.destination, since: 900, timeouts: 2))
            }
            let others = idle.dropFirst(count).map { inbound(simulation.answered($0.destination, 1500)) }
            let found = simulation.read([listening] + gone + others, after: 1000)
            #expect(found.isEmpty == (count < 7), "\(count): \(found)")
        }
    }

    @Test func `where only what is sent is lost, what is received hides nothing`() {
        var simulation = Simulation()
        _ = simulation.read(Self.hosts.map { simulation.answered($0) })
        for round in 1...8 {
            let timeouts = round < 3 ? 1 : round < 6 ? 2 : 3
            let connections = Self.hosts.map { host in
                var connection = simulation.waiting(host, since: 250 * round, timeouts: timeouts)
                (connection.lastReceived, connection.lastAcknowledged) = (30, 30)
                return connection
            }
            _ = simulation.read(connections)
        }
        #expect(simulation.changes.count == 1 && simulation.changes.first?.finding.destination == nil)
        #expect(simulation.report.total.state == .stalled)
    }

    @Test func `what stands ends as unknown where connections are read no longer`() throws {
        var simulation = Simulation()
        _ = simulation.read(Self.hosts.map { simulation.answered($0) })
        #expect(simulation.tracker.abandoned(at: .milliseconds(simulation.now)).isEmpty)
        _ = simulation.read(Self.hosts.map { simulation.waiting($0, since: 450, timeouts: 1) }, after: 500)
        let ends = simulation.tracker.abandoned(at: .milliseconds(simulation.now))
        guard case .unknown(let finding, let duration) = try #require(ends.first), ends.count == 1 else {
            Issue.record("\(ends)")
            return
        }
        #expect(finding.destination == nil && duration == .milliseconds(520))
    }
}
