// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import TestSupport
import Testing

@testable import Traffic

/// Connections of one machine through one gateway, as the kernel would show them; time goes on only when a test says so.
struct Simulation {
    static let gateway = IPAddress.v4(0x0A00_0001)
    var tracker = TrafficTracker()
    /// A whole number of milliseconds.
    var now = 100_000
    var gateway = Self.gateway
    /// Hosts that are reached without the gateway.
    var onLink: Set<IPAddress> = []
    var changes: [TrafficChange] = []

    func path(_ key: TrafficTracker.RouteKey) -> TrafficPath {
        TrafficPath(
            index: 2,
            interface: "eth0",
            gateway: onLink.contains(key.destination) ? nil : gateway,
            family: .ipv4,
            range: TrafficPath.Range(key.destination)
        )
    }

    /// The address of a host in one of several prefixes of documentation.
    static func host(_ prefix: Int, _ number: Int = 1) -> IPAddress {
        .v4(0xC633_6400 + UInt32(prefix) << 8 + UInt32(number))
    }

    /// A server of this machine.
    static let listening = TCPConnection(.listening, from: .v4(0), port: 443, to: .v4(0), cookie: 1)

    /// The same connection, opened by a client of that server.
    static func inbound(_ connection: TCPConnection) -> TCPConnection {
        var connection = connection
        connection.sourcePort = 443
        return connection
    }

    /// A connection that was answered so many milliseconds ago.
    func answered(_ host: IPAddress, _ age: Int = 20, cookie: UInt64 = 0) -> TCPConnection {
        var connection = TCPConnection(
            .established,
            from: .v4(0x0A00_000A),
            port: 40_000,
            to: host,
            port: 443,
            cookie: cookie
        )
        (connection.lastSent, connection.lastAcknowledged, connection.lastReceived) = (
            UInt32(age), UInt32(age), UInt32(age)
        )
        (connection.roundTrip, connection.leastRoundTrip, connection.timeout) = (20_000, 10_000, 204_000)
        connection.segmentsReceived = 1
        return connection
    }

    /// One that sent something `age` milliseconds ago, the last answer to which was `since` milliseconds before, and that
    /// has timed out so often.
    func waiting(_ host: IPAddress, since start: Int, answer: Int? = nil, timeouts: Int) -> TCPConnection {
        var connection = answered(host, start + (answer ?? 100))
        connection.unacknowledged = 1
        connection.retransmissions = UInt8(timeouts)
        connection.backoff = UInt8(timeouts)
        connection.timeout = 204_000 << UInt32(timeouts)
        // All timeouts but the present one have passed.
        let passed = 204 * ((1 << timeouts) - 1)
        connection.lastSent = UInt32(max(0, start - passed))
        return connection
    }

    mutating func read(_ connections: [TCPConnection], after milliseconds: Int = 250) -> [TrafficChange] {
        now += milliseconds
        tracker.begin()
        let time = Duration.milliseconds(now)
        for connection in connections { tracker.add(connection, at: time, route: path) }
        let found = tracker.end(at: time)
        changes += found
        return found
    }

    var report: TrafficReport { tracker.report(at: .milliseconds(now)) }
}

@Suite struct StallTests {
    @Test func `three destinations that were answered a moment ago and are not any more accuse the path`() throws {
        var simulation = Simulation()
        let hosts = (0..<4).map { Simulation.host($0) }
        #expect(simulation.read(hosts.map { simulation.answered($0) }).isEmpty)
        #expect(simulation.report.total.state == .proved)
        let found = simulation.read(hosts.map { simulation.waiting($0, since: 450, timeouts: 1) }, after: 500)
        guard case .stalled(let finding) = try #require(found.first), found.count == 1 else {
            Issue.record("\(found)")
            return
        }
        #expect(finding.destination == nil && finding.path.gateway == Simulation.gateway)
        #expect(finding.connections == 4 && finding.unanswered == 4 && finding.lastAnswer == .milliseconds(520))
        #expect(simulation.report.total.state == .stalled)
        #expect(simulation.report.paths.first?.groups.map(\.figures.state) == Array(repeating: .stalled, count: 4))
        #expect(simulation.read(hosts.map { simulation.waiting($0, since: 700, timeouts: 2) }).isEmpty)
        let again = simulation.read(
            [simulation.answered(hosts[0], 5)]
                + hosts.dropFirst().map {
                    simulation.waiting($0, since: 950, timeouts: 2)
                }
        )
        guard case .resumed(let end, let duration) = try #require(again.first), again.count == 1 else {
            Issue.record("\(again)")
            return
        }
        #expect(end.destination == nil && duration == .milliseconds(1020))
    }

    @Test func `what was proved is unknown fifteen seconds after the last answer, without a reading`() {
        var simulation = Simulation()
        _ = simulation.read([simulation.answered(Simulation.host(0))])
        #expect(simulation.report.total.state == .proved && simulation.tracker.isTransient)
        let later = Duration.milliseconds(simulation.now + 15_000)
        let changes = [simulation.tracker.refresh(at: later), simulation.tracker.refresh(at: later)]
        #expect(changes == [true, false] && !simulation.tracker.isTransient)
        #expect(simulation.tracker.report(at: later).total.state == .unknown)
    }

    @Test func `nobody is accused while anything beyond the same gateway is answered`() {
        var simulation = Simulation()
        let hosts = (0..<6).map { Simulation.host($0) }
        _ = simulation.read(hosts.map { simulation.answered($0) })
        for round in 1..<40 {
            let dead = hosts.dropLast().map { simulation.waiting($0, since: 250 * round, timeouts: min(round, 5)) }
            for change in simulation.read(dead + [simulation.answered(hosts[5])]) {
                #expect(change.finding.destination != nil, "\(change)")
            }
        }
    }

    @Test func `a destination whose hosts are all silent is reported alone, one host of it after a while`() throws {
        var simulation = Simulation()
        let dead = (1...3).map { Simulation.host(0, $0) }
        let alive = Simulation.host(9)
        _ = simulation.read((dead + [alive]).map { simulation.answered($0) })
        var found: [TrafficChange] = []
        for round in 1...4 where found.isEmpty {
            found = simulation.read(
                dead.map { simulation.waiting($0, since: 250 * round, timeouts: 1) } + [simulation.answered(alive)]
            )
        }
        #expect(found.count == 1 && found.first?.finding.destination?.description == "198.51.100.0/24")
        #expect(simulation.now < 101_500)

        var other = Simulation()
        _ = other.read([dead[0], alive].map { other.answered($0) })
        for round in 1...12 {
            let timeouts = round < 3 ? 1 : round < 6 ? 2 : 3
            let found = other.read([
                other.waiting(dead[0], since: 250 * round, timeouts: timeouts), other.answered(alive),
            ])
            #expect(found.isEmpty == (round < 8) || !other.changes.isEmpty && found.isEmpty, "\(round): \(found)")
        }
        #expect(other.changes.count == 1 && other.changes.first?.finding.destination != nil)
    }

    @Test(arguments: [(connections: 3, rounds: 3), (2, 8)])
    func `a host with several connections is reported as soon as others were answered since, one with few later`(
        connections: Int,
        rounds: Int
    ) {
        var simulation = Simulation()
        let (dead, alive) = (Simulation.host(0), Simulation.host(9))
        _ = simulation.read([dead, alive].map { simulation.answered($0) })
        var round = 0
        repeat {
            round += 1
            let timeouts = round < 4 ? 1 : round < 6 ? 2 : 3
            let waiting = (0..<connections).map { _ in
                simulation.waiting(dead, since: 250 * round, timeouts: timeouts)
            }
            _ = simulation.read(waiting + [simulation.answered(alive)])
        } while simulation.changes.isEmpty && round < 20
        #expect(round == rounds && simulation.changes.first?.finding.destination != nil)
    }

    @Test func `one dead host of a destination with others that answer is reported nowhere`() {
        var simulation = Simulation()
        let hosts = (1...100).map { Simulation.host(0, $0) }
        _ = simulation.read(hosts.map { simulation.answered($0) })
        for round in 1...60 {
            let connections =
                [simulation.waiting(hosts[0], since: 250 * round, timeouts: min(6, round))]
                + hosts.dropFirst().map { simulation.answered($0) }
            #expect(simulation.read(connections).isEmpty)
        }
    }

    @Test func `clients that left one after the other accuse nobody, however long they are sent to`() {
        var simulation = Simulation()
        let (listening, inbound) = (Simulation.listening, Simulation.inbound)
        var left: [(host: IPAddress, at: Int)] = []
        for round in 0..<200 {
            // Every five seconds another one leaves; in between one client is answered.
            if round % 20 == 0 { left.append((Simulation.host(left.count), simulation.now)) }
            let gone = left.map { client in
                let age = simulation.now + 250 - client.at
                let timeouts = (0..<7).last { 204 * ((1 << $0) - 1) <= age } ?? 0
                return inbound(simulation.waiting(client.host, since: age, timeouts: timeouts))
            }
            let other = inbound(simulation.answered(Simulation.host(100), round % 10 * 250))
            #expect(simulation.read([listening] + gone + [other]).isEmpty)
        }
    }

    @Test func `a full receive window, an idle connection and one that was idle for long accuse nobody`() {
        var simulation = Simulation()
        let hosts = (0..<5).map { Simulation.host($0) }
        _ = simulation.read(hosts.map { simulation.answered($0) })
        let full = hosts.map { host in
            var connection = simulation.waiting(host, since: 3000, timeouts: 3)
            connection.isProbingWindow = true
            return connection
        }
        #expect(simulation.read(full, after: 3000).isEmpty)
        #expect(simulation.read(hosts.map { simulation.answered($0, 30_000) }, after: 30_000).isEmpty)
        // A network may have forgotten them meanwhile.
        let forgotten = hosts.map { simulation.waiting($0, since: 700, answer: 120_000, timeouts: 2) }
        #expect(simulation.read(forgotten, after: 120_000).isEmpty)
    }

    @Test func `connections from before the uplink changed, or before a suspension, accuse nobody`() {
        var simulation = Simulation()
        let hosts = (0..<5).map { Simulation.host($0) }
        _ = simulation.read(hosts.map { simulation.answered($0) })
        simulation.gateway = .v4(0x0A00_0002)
        simulation.tracker.routesChanged(at: .milliseconds(simulation.now))
        #expect(
            simulation.read(hosts.map { simulation.waiting($0, since: 900, answer: 150, timeouts: 2) }, after: 1000)
                .isEmpty
        )

        var other = Simulation()
        _ = other.read(hosts.map { other.answered($0) })
        other.tracker.resume(at: .milliseconds(other.now))
        #expect(other.read(hosts.map { other.waiting($0, since: 900, answer: 150, timeouts: 2) }, after: 1000).isEmpty)
    }

    @Test func `hosts that never answered say nothing, those that did say that the path is gone`() {
        func attempts(_ simulation: Simulation, _ hosts: [IPAddress]) -> [TCPConnection] {
            hosts.map { host in
                var connection = simulation.answered(host)
                connection.state = .synSent
                (connection.retransmissions, connection.backoff, connection.timeout) = (2, 2, 4_000_000)
                connection.timeLeft = 4000
                (connection.lastSent, connection.lastAcknowledged, connection.lastReceived) = (.max, .max, .max)
                return connection
            }
        }
        var simulation = Simulation()
        let hosts = (0..<5).map { Simulation.host($0) }
        for _ in 0..<20 { #expect(simulation.read(attempts(simulation, hosts)).isEmpty) }
        #expect(simulation.report.total.state == .unanswered)
        _ = simulation.read(hosts.map { simulation.answered($0) })
        let found = simulation.read(attempts(simulation, hosts), after: 3000)
        #expect(found.count == 1 && found.first?.finding.destination == nil)
    }

    @Test func `answers of private addresses do not hide that public ones are out of reach`() {
        var simulation = Simulation()
        let hosts = (0..<3).map { Simulation.host($0) }
        let near = IPAddress.v4(0x0A01_0203)
        _ = simulation.read((hosts + [near]).map { simulation.answered($0) })
        let connections = hosts.map { simulation.waiting($0, since: 450, timeouts: 1) } + [simulation.answered(near)]
        let found = simulation.read(connections, after: 500)
        #expect(found.count == 1 && found.first?.finding.path.range == .public)
    }

    @Test func `an outage whose connections are all gone is unknown after a minute, not answered again`() throws {
        var simulation = Simulation()
        let hosts = (0..<3).map { Simulation.host($0) }
        _ = simulation.read(hosts.map { simulation.answered($0) })
        #expect(simulation.read(hosts.map { simulation.waiting($0, since: 450, timeouts: 1) }, after: 500).count == 1)
        #expect(simulation.read([], after: 59_000).isEmpty)
        let found = simulation.read([], after: 2000)
        guard case .unknown(let finding, let duration) = try #require(found.first), found.count == 1 else {
            Issue.record("\(found)")
            return
        }
        #expect(finding.destination == nil && duration == .milliseconds(61_520))
        #expect(simulation.report.total.state == .unknown)
    }
}

@Suite struct LossTests {
    /// Sends 100 segments a second to each host, of which a share is lost.
    private static func run(_ seconds: Int, _ shares: [Double]) -> Simulation {
        var simulation = Simulation()
        for second in 0...seconds {
            let connections = shares.enumerated().map { index, share in
                var connection = simulation.answered(Simulation.host(index), cookie: UInt64(index + 1))
                connection.segments = UInt32(second * 100)
                connection.retransmitted = UInt32((Double(second * 100) * share).rounded())
                return connection
            }
            _ = simulation.read(connections, after: 1000)
        }
        return simulation
    }

    @Test(arguments: [0.005, 0.01, 0.02, 0.05]) func `loss is measured for each destination`(share: Double) throws {
        let simulation = Self.run(20, [share, 0])
        let groups = try #require(simulation.report.paths.first).groups
        #expect(abs((groups[0].figures.loss ?? 1) - share) < 0.001)
        #expect(groups[1].figures.loss == 0)
    }

    @Test func `loss of several destinations is the path's, of one its own, and none is reported below the limit`() {
        #expect(Self.run(20, [0.01, 0.02, 0.02]).changes.isEmpty)
        let one = Self.run(20, [0.05, 0, 0]).changes
        #expect(one.count == 1 && one.first?.finding.destination != nil)
        let all = Self.run(20, [0.05, 0.05, 0.05]).changes
        #expect(all.count == 1 && all.first?.finding.destination == nil)
    }

    @Test func `segments that the peer had already are not lost`() throws {
        var simulation = Simulation()
        for second in 0...20 {
            var connection = simulation.answered(Simulation.host(0), cookie: 1)
            connection.segments = UInt32(second * 100)
            (connection.retransmitted, connection.duplicates) = (UInt32(second * 10), UInt32(second * 10))
            #expect(simulation.read([connection], after: 1000).isEmpty)
        }
        #expect(simulation.report.total.loss == 0)
    }
}

@Suite(.computing) struct TrackerBoundsTests {
    @Test func `memory is bounded, and groups that were not seen for long are forgotten`() {
        var simulation = Simulation()
        let hosts = (0..<6000).map { IPAddress.v4(0x0100_0000 + UInt32($0) << 8) }
        _ = simulation.read(hosts.map { simulation.answered($0) })
        #expect(simulation.tracker.groupCount <= TrafficTracker.mostGroups)
        _ = simulation.read([], after: 601_000)
        #expect(simulation.tracker.groupCount == 0)
        #expect(simulation.report.paths.isEmpty)
    }

    @Test func `round trips that grew far beyond the least are slow, not stalled`() {
        var simulation = Simulation()
        let slow = (0..<3).map { number in
            var connection = simulation.answered(Simulation.host(number))
            (connection.roundTrip, connection.leastRoundTrip) = (900_000, 20_000)
            return connection
        }
        #expect(simulation.read(slow).isEmpty)
        #expect(simulation.report.total.state == .slow)
        #expect(simulation.report.total.roundTrips?.p90 == .milliseconds(900))
    }

    @Test func `connections over loopback and to this machine are not counted`() {
        var simulation = Simulation()
        let local = simulation.answered(.v4(0x7F00_0001))
        _ = simulation.read([local])
        #expect(simulation.report.total.connections == 0)
        simulation.tracker.begin()
        simulation.tracker.add(simulation.answered(Simulation.host(1)), at: .seconds(200)) { _ in nil }
        _ = simulation.tracker.end(at: .seconds(200))
        #expect(simulation.report.total.connections == 0)
    }
}
