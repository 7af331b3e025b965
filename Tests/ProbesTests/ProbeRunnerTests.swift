// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import CLinuxShims
import Glibc
import LinuxIO
import TestSupport
import Testing

@testable import Probes

/// What happened to a probe, in words, and how often it completed.
private final class Journal {
    var events: [String] = []
    var completions: [ProbeTraffic] = []

    func count(_ prefix: String) -> Int { events.count { $0.hasPrefix(prefix) } }
}

/// A probe that does what a test says by what happened, such as `opened 0`, `received 0 #7` or `failed 0 send EPERM`.
private struct TestProbe: Probe {
    typealias Reaction = (_ event: String, _ time: Duration) -> [ProbeAction]

    let journal: Journal
    let reaction: Reaction
    var result: Int { journal.events.count }
    var bytesReceived: Int { 7 }

    mutating func handle(_ event: ProbeEvent, at now: ProbeTime) -> [ProbeAction] {
        let words = Self.words(event)
        journal.events.append(words)
        return reaction(words, now.boot)
    }

    private static func words(_ event: ProbeEvent) -> String {
        switch event {
        case .started: "started"
        case .opened(let socket, _): "opened \(socket)"
        case .failed(let failure, let socket, .open): "failed \(socket) open \(failure.error.name)"
        case .failed(let failure, let socket, .send): "failed \(socket) send \(failure.error.name)"
        case .failed(let failure, let socket, .receive): "failed \(socket) receive \(failure.error.name)"
        // The low byte of an echo reply's sequence number.
        case .received(let packet, let socket): "received \(socket) #\(packet.bytes.suffix(57).first ?? 0)"
        case .fault(let fault, _, let socket): "fault \(socket) \(fault.kind)"
        case .fired(let timer): "fired \(timer)"
        case .timedOut: "timed out"
        }
    }
}

@Suite(.inNamespace) struct ProbeRunnerTests {
    private static let loopback = ScopedAddress(.v4(0x7F00_0001))
    /// Nobody is there; a UDP socket opens all the same.
    private static let discard = SocketAddress(loopback, port: 9)
    private static let udp = ProbeSocketKind.datagram(to: discard)
    private static let echo = ProbeSocketKind.echo(to: loopback)

    private var loop: EventLoop { Namespace.current.loop }

    private func start(
        _ reaction: @escaping TestProbe.Reaction
    ) -> (runner: ProbeRunner<Int>, journal: Journal) {
        let journal = Journal()
        let probe = TestProbe(journal: journal, reaction: reaction)
        let runner = ProbeRunner(probe, loop: loop) { journal.completions.append($1) }
        return (runner, journal)
    }

    /// Runs a probe to its end; the runner lives longer.
    private func run(_ reaction: @escaping TestProbe.Reaction) async -> Journal {
        let (runner, journal) = start(reaction)
        await loop.eventually("the end", found: journal.events) { !journal.completions.isEmpty }
        withExtendedLifetime(runner) {}
        return journal
    }

    /// How many sockets of a kind there are in the namespace, such as `udp`.
    private static func sockets(_ kind: String) -> Int {
        let lines = ProcFile.text("/proc/thread-self/net/\(kind)")?.split(separator: "\n") ?? []
        return max(0, lines.count - 1)
    }

    private static func request(_ number: Int) -> [UInt8] {
        EchoMessage(family: .ipv4, sequence: UInt16(number)).request
    }

    /// Lets every user ping by the kernel's own socket, which shows no other socket's replies.
    private func allowEcho() throws {
        try Namespace.current.run([
            "sysctl", "-qw", "net.ipv4.ping_group_range=\(ProbeNetwork.PingGroups.everyone.rawValue)",
        ])
    }

    // MARK: - The end

    @Test func `a probe that is over completes once, and never before it was begun`() async {
        let (runner, journal) = start { _, _ in [.finish, .finish] }
        #expect(journal.events.isEmpty && journal.completions.isEmpty)
        await loop.eventually { !journal.completions.isEmpty }
        await loop.sleep(for: .milliseconds(10))
        #expect(journal.events == ["started"] && journal.completions.map(\.bytesReceived) == [7])
        withExtendedLifetime(runner) {}
    }

    @Test func `one that starts now may complete at once`() {
        let journal = Journal()
        let probe = TestProbe(journal: journal) { _, _ in [.finish] }
        let runner = ProbeRunner(startingNow: probe, loop: loop) { journal.completions.append($1) }
        #expect(journal.completions.count == 1 && journal.events == ["started"])
        withExtendedLifetime(runner) {}
    }

    @Test func `at the end sockets are closed, and what was to come does not`() async {
        let (runner, journal) = start { _, now in
            [
                .open(Self.udp, socket: 0), .open(Self.udp, socket: 1), .schedule(at: now), .timeout(after: .zero),
                .finish, .open(Self.udp, socket: 2), .schedule(at: now, timer: 1),
            ]
        }
        await loop.eventually { !journal.completions.isEmpty }
        // A child process that another test starts holds a copy until it runs its program.
        await loop.eventually("closed sockets") { Self.sockets("udp") == 0 }
        await loop.sleep(for: .milliseconds(20))
        #expect(journal.events == ["started"] && journal.completions.count == 1)
        withExtendedLifetime(runner) {}
    }

    @Test func `one that finishes when a packet comes closes its socket`() async throws {
        try allowEcho()
        let (runner, journal) = start { event, _ in
            switch event {
            case "started": [.open(Self.echo)]
            case "opened 0": [.send(Self.request(1)), .send(Self.request(2))]
            default: [.finish]
            }
        }
        await loop.eventually { !journal.completions.isEmpty }
        #expect(journal.events == ["started", "opened 0", "received 0 #1"])
        await loop.eventually("closed sockets") { Self.sockets("icmp") == 0 && Self.sockets("raw") == 0 }
        withExtendedLifetime(runner) {}
    }

    @Test(arguments: [false, true])
    func `one that is cancelled or let go closes its sockets and calls nobody`(isCancelled: Bool) async {
        let journal = Journal()
        let probe = TestProbe(journal: journal) { event, now in
            guard event == "started" else { return event.hasPrefix("opened") ? [] : [.finish] }
            return [
                .open(Self.udp, socket: 0), .open(Self.udp, socket: 1), .schedule(at: now + .milliseconds(20)),
                .timeout(after: .milliseconds(20)),
            ]
        }
        var runner = Optional(ProbeRunner(startingNow: probe, loop: loop) { journal.completions.append($1) })
        #expect(Self.sockets("udp") == 2)
        if isCancelled { runner?.cancel() } else { runner = nil }
        await loop.eventually("closed sockets") { Self.sockets("udp") == 0 }
        await loop.sleep(for: .milliseconds(60))
        #expect(journal.events == ["started", "opened 0", "opened 1"] && journal.completions.isEmpty)
        withExtendedLifetime(runner) {}
    }

    @Test func `one that is cancelled before its start has none`() async {
        let (runner, journal) = start { _, _ in [.finish] }
        runner.cancel()
        await loop.sleep(for: .milliseconds(10))
        #expect(journal.events.isEmpty && journal.completions.isEmpty)
    }

    // MARK: - Order

    @Test func `what an action causes comes after all actions of its event`() async throws {
        try allowEcho()
        let journal = await run { event, _ in
            switch event {
            case "started": [.open(Self.echo), .send(Self.request(1)), .open(Self.udp, socket: 1)]
            case "opened 0": [.send(Self.request(2))]
            case "received 0 #2": [.finish]
            default: []
            }
        }
        #expect(journal.events == ["started", "opened 0", "opened 1", "received 0 #1", "received 0 #2"])
    }

    @Test func `a timer replaces that of its number, and no other`() async {
        let journal = await run { event, now in
            switch event {
            case "started":
                [
                    .schedule(at: now + .milliseconds(5), timer: 1), .schedule(at: now + .milliseconds(10), timer: 2),
                    .schedule(at: now + .milliseconds(20), timer: 1),
                ]
            case "fired 1": [.schedule(at: now + .milliseconds(30), timer: 3)]
            case "fired 3": [.finish]
            default: []
            }
        }
        #expect(journal.events == ["started", "fired 2", "fired 1", "fired 3"])
    }

    @Test func `a timeout replaces the one before, and none cancels it`() async {
        let journal = await run { event, now in
            switch event {
            case "started":
                [
                    .timeout(after: .milliseconds(5)), .timeout(after: nil),
                    .schedule(at: now + .milliseconds(50), timer: 1),
                ]
            case "fired 1": [.timeout(after: .milliseconds(1)), .timeout(after: .milliseconds(10))]
            case "timed out": [.schedule(at: now + .milliseconds(100), timer: 2)]
            case "fired 2": [.finish]
            default: []
            }
        }
        #expect(journal.events == ["started", "fired 1", "timed out", "fired 2"])
    }

    // MARK: - Sockets

    /// A connection fails later, a datagram socket without a route at once.
    @Test(arguments: [false, true])
    func `a number whose socket failed can be opened again`(isStream: Bool) async {
        let beyond = SocketAddress(ScopedAddress(.v4(0xC633_6401)), port: 9)
        let kind = isStream ? ProbeSocketKind.stream(to: Self.discard) : .datagram(to: beyond)
        let error = isStream ? "ECONNREFUSED" : "ENETUNREACH"
        let journal = await run { event, now in
            switch event {
            case "started": [.open(kind)]
            case "failed 0 open \(error)": [.schedule(at: now + .milliseconds(30), timer: 1)]
            case "fired 1": [.open(Self.udp)]
            default: [.finish]
            }
        }
        #expect(journal.events == ["started", "failed 0 open \(error)", "fired 1", "opened 0"])
    }

    @Test func `a socket of the same number replaces the one before`() async {
        var count = 0
        let journal = await run { event, now in
            switch event {
            case "started": return [.open(Self.udp), .open(Self.udp), .schedule(at: now + .milliseconds(200))]
            case "fired 0":
                count = Self.sockets("udp")
                return [.finish]
            default: return []
            }
        }
        #expect(count == 1 && journal.events == ["started", "opened 0", "opened 0", "fired 0"])
    }

    @Test func `a packet belongs to the socket that received it`() async throws {
        try allowEcho()
        let journal = await run { event, _ in
            switch event {
            case "started": [.open(Self.echo, socket: 3), .open(Self.echo, socket: 5)]
            case "opened 5": [.send(Self.request(9), socket: 5)]
            case "received 5 #9": [.finish]
            default: []
            }
        }
        #expect(journal.events == ["started", "opened 3", "opened 5", "received 5 #9"])
    }

    @Test func `a burst is read on, and other events are handled between`() async throws {
        try allowEcho()
        let journal = Journal()
        let loop = loop
        let probe = TestProbe(journal: journal) { event, _ in
            switch event {
            case "started": return [.open(Self.echo)]
            case "opened 0": return (1...100).map { .send(Self.request($0)) }
            case "received 0 #1": loop.deferring { journal.events.append("next iteration") }
            default: break
            }
            return journal.count("received") == 100 ? [.finish] : []
        }
        let runner = ProbeRunner(probe, loop: loop) { journal.completions.append($1) }
        await loop.eventually("the end", found: journal.events.count) { !journal.completions.isEmpty }
        withExtendedLifetime(runner) {}
        #expect(journal.count("received") == 100 && journal.completions.first?.packets == 100)
        let before = journal.events.prefix { $0 != "next iteration" }
        #expect(before.count <= 2 + ProbeSocket.burst)
    }

    /// What a router or host said of a packet before is reported by the next send, which sends nothing then.
    @Test func `ICMP errors come before the failed send that they cause`() async {
        let options = ProbeSocketOptions(reportsFaults: true)
        let kind = ProbeSocketKind.datagram(to: Self.discard, ProbeRoute(), options)
        let journal = await run { event, _ in
            switch event {
            case "started": return [.open(kind)]
            case "opened 0": return [.send([1, 2]), .open(Self.udp, socket: 1)]
            case "opened 1":
                // The error arrives, and the loop does not look meanwhile.
                _ = usleep(50_000)
                return [.send([3])]
            case "failed 0 send ECONNREFUSED": return [.finish]
            default: return []
            }
        }
        #expect(
            journal.events == [
                "started", "opened 0", "opened 1", "fault 0 portClosed", "failed 0 send ECONNREFUSED",
            ]
        )
        #expect(journal.completions.map(\.packets) == [2] && journal.completions.map(\.bytesSent) == [2])
    }

    // MARK: - Traffic

    @Test func `what is sent again is the same packet`() async throws {
        try allowEcho()
        let journal = await run { event, _ in
            switch event {
            case "started": [.open(Self.echo)]
            case "opened 0": [.send(Self.request(1)), .resend(Self.request(1)), .finish]
            default: []
            }
        }
        var expected = ProbeTraffic()
        (expected.packets, expected.bytesSent, expected.bytesReceived) = (1, 128, 7)
        #expect(journal.completions == [expected])
    }

    @Test func `what a filter refuses is counted, and its bytes are not`() async throws {
        try ProbeNetwork.filter(.current, hook: "output", ["udp dport 9 drop"])
        let journal = await run { event, _ in
            switch event {
            case "started": [.open(Self.udp)]
            case "opened 0": [.send([1, 2, 3])]
            case "failed 0 send EPERM": [.finish]
            default: []
            }
        }
        var expected = ProbeTraffic()
        (expected.packets, expected.refused, expected.bytesReceived) = (1, 1, 7)
        expected.silentPorts = journal.completions.first?.silentPorts ?? []
        #expect(journal.completions == [expected] && expected.silentPorts.count == 1)
    }

    @Test func `a socket that may not be opened is no packet that a filter refused`() async throws {
        try #require(nwp_become_user(65_534) == 0)
        let journal = await run { event, _ in
            event == "started" ? [.open(.link(.arp, interface: 1))] : [.finish]
        }
        var expected = ProbeTraffic()
        expected.bytesReceived = 7
        #expect(journal.events == ["started", "failed 0 open EPERM"] && journal.completions == [expected])
    }

    @Test func `what this machine lacks is kept`() async throws {
        // A single local port, which a first socket has.
        try Namespace.current.run(["sysctl", "-qw", "net.ipv4.ip_local_port_range=40000 40000"])
        let journal = await run { event, _ in
            switch event {
            case "started": [.open(Self.udp, socket: 0), .open(Self.udp, socket: 1)]
            case "opened 0": []
            default: [.finish]
            }
        }
        #expect(journal.events == ["started", "opened 0", "failed 1 open EAGAIN"])
        #expect(journal.completions.map(\.shortage) == ["no local port is left (EAGAIN)"])
    }
}
