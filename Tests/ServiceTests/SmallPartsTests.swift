// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Configuration
import DNSWire
import Documents
import EventHub
import EventLog
import Glibc
import LinuxIO
import Metrics
import Netlink
import PathModel
import Providers
import StatusServer
import TestSupport
import Testing

@testable import MulticastDNS
@testable import PathEngine
@testable import PathService

/// What a registry shows of a counter or histogram.
private func samples(_ add: (MetricRegistry) -> Void) -> [String] {
    let registry = MetricRegistry()
    add(registry)
    return String(decoding: registry.scrape(), as: UTF8.self).lines.filter { !$0.hasPrefix("#") }
}

@Suite struct ServiceCountersTests {
    private func service(_ type: String) -> MulticastDNS.Service {
        MulticastDNS.Service(
            instance: DomainName(),
            name: "x",
            type: type,
            domain: "local",
            interface: "eth0",
            interfaceIndex: 2,
            host: "h.local",
            port: 1,
            addresses: [],
            text: [],
            rawText: [],
            timeToLive: .seconds(1),
            firstSeen: .zero,
            lastSeen: .zero
        )
    }

    private func update(source: String, received: WallTime, isFirst: Bool = false) -> EngineUpdate {
        EngineUpdate(
            cause: EngineCause(.initial, source: source, received: received),
            changes: [],
            paths: [],
            flappingEnded: [:],
            evaluation: .microseconds(300),
            at: .zero,
            isFirst: isFirst
        )
    }

    @Test func `a type of service has all its counters from its first event on`() {
        let counters = ServiceCounters()
        let others = ["added", "changed", "removed"].map {
            "nwpath_mdns_service_events_total{service_type=\"other\",event=\"\($0)\"} 0"
        }
        #expect(samples { $0.add(counters.serviceEvents) } == others)
        counters.count(.added(service("_ipp._tcp")))
        counters.count(.removed(service("_ipp._tcp"), reason: .goodbye, seenFor: .seconds(1)))
        counters.count(.changed(service("_ipp._tcp"), fields: [], previous: service("_ipp._tcp")))
        counters.count(.typeAdded("_other._tcp"))
        counters.count(.added(service("_ipp._tcp")))
        let name = "nwpath_mdns_service_events_total{service_type=\"_ipp._tcp\",event="
        #expect(
            samples { $0.add(counters.serviceEvents) } == others + [
                name + "\"added\"} 2", name + "\"changed\"} 1", name + "\"removed\"} 1",
            ]
        )
    }

    @Test func `strangers can make two hundred series, the rest is one`() {
        let counters = ServiceCounters()
        for number in 0..<500 { counters.count(.added(service("_t\(number)._tcp"))) }
        #expect(counters.label("_t0._tcp") == "_t0._tcp" && counters.label("_t199._tcp") == "_t199._tcp")
        #expect(counters.label("_t200._tcp") == "other" && counters.label("_new._tcp") == "other")
        let lines = samples { $0.add(counters.serviceEvents) }
        #expect(lines.count == 3 * (ServiceCounters.maximumTypes + 1))
        #expect(lines.contains("nwpath_mdns_service_events_total{service_type=\"other\",event=\"added\"} 300"))
    }

    @Test func `a type that is expected has its counters before its first event`() {
        let counters = ServiceCounters()
        for _ in 0..<3 { counters.expect("_ipp._tcp") }
        let lines = samples { $0.add(counters.serviceEvents) }
        #expect(lines.filter { $0.contains("\"_ipp._tcp\"") && $0.hasSuffix(" 0") }.count == 3)
        counters.count(.added(service("_ipp._tcp")))
        counters.expect("_ipp._tcp")
        #expect(counters.serviceEvents.value("_ipp._tcp", "added") == 1)
    }

    @Test func `a type whose last service went away is counted as zero, and so are the others`() {
        let counters = ServiceCounters()
        func tally(_ types: [String]) -> [String] { counters.tally(types).map { "\($0.type) \($0.count)" } }
        #expect(tally([]) == ["other 0"])
        for type in ["_ssh._tcp", "_ipp._tcp"] { counters.count(.added(service(type))) }
        #expect(tally(["_ssh._tcp", "_ipp._tcp", "_ssh._tcp"]) == ["_ipp._tcp 1", "_ssh._tcp 2", "other 0"])
        #expect(tally(["_ipp._tcp"]) == ["_ipp._tcp 1", "_ssh._tcp 0", "other 0"])
        let many = (0..<500).map { "_t\($0)._tcp" }
        #expect(tally(many) == ["_ipp._tcp 0", "_ssh._tcp 0", "other 500"], "a tally makes no series")
        for type in many { counters.count(.added(service(type))) }
        #expect(tally(many).count == ServiceCounters.maximumTypes + 1)
        #expect(counters.tally(["_late._tcp"]).first { $0.type == "other" }?.count == 1)
    }

    @Test func `latency is counted for what the kernel told, after the first look, and never below zero`() {
        let clock = ManualClock()
        let counters = UpdateCounters()
        counters.observe(update(source: "rtnetlink", received: clock.wall, isFirst: true), at: clock)
        #expect(counters.latency.count() == 0 && counters.evaluation.count() == 0)
        counters.observe(update(source: "resolv.conf", received: clock.wall), at: clock)
        #expect(counters.latency.count() == 0 && counters.evaluation.count() == 1)
        let received = clock.wall
        clock.advance(by: .milliseconds(30))
        counters.observe(update(source: "rtnetlink", received: received), at: clock)
        clock.step(wallBy: .seconds(-3600))
        counters.observe(update(source: "rtnetlink", received: received), at: clock)
        let lines = samples { $0.add(counters.latency) }
        #expect(lines.contains("nwpath_event_latency_seconds_bucket{le=\"0.0002\"} 1"))
        #expect(lines.contains("nwpath_event_latency_seconds_bucket{le=\"0.05\"} 2"))
        #expect(lines.contains("nwpath_event_latency_seconds_sum 0.03"))
        #expect(counters.evaluation.count() == 3)
    }

    @Test func `a rejected reload does not change when the last good one was`() {
        var record = ReloadRecord()
        #expect(record.isLastGood && record.lastAccepted == nil && record.rejection == nil)
        record.rejected("line 3")
        #expect(!record.isLastGood && record.lastAccepted == nil && record.rejection == "line 3")
        let time = WallTime(nanoseconds: 5)
        record.accepted(at: time)
        #expect(record.isLastGood && record.rejection == nil)
        record.rejected("line 4")
        #expect(!record.isLastGood && record.lastAccepted == time)
    }
}

@Suite struct ConfigurationPartsTests {
    private func read(_ text: String) throws -> Configuration {
        let source = Configuration.Source(name: "nwpath.yaml", bytes: Array(text.utf8))
        return try Configuration.read([source], paths: StandardPaths(userID: 0, environment: [:]))
    }

    @Test(arguments: [
        ("", RotationPolicy(size: 16 << 20, age: .seconds(604_800), keep: 4)),
        ("log: {max_size: 0, max_age: 0, keep: 0}", RotationPolicy(size: nil, age: nil, keep: 0)),
        ("log: {max_size: 64KiB, max_age: 1h, keep: 9}", RotationPolicy(size: 65_536, age: .seconds(3600), keep: 9)),
    ])
    func `zero switches a kind of rotation off`(text: String, expected: RotationPolicy) throws {
        #expect(try read(text).rotation == expected)
    }

    @Test(arguments: [("", Severity.info), ("log: {level: debug}", .debug), ("log: {level: info}", .info)])
    func `the level of the log is the least severity`(text: String, expected: Severity) throws {
        #expect(try read(text).minimumSeverity == expected)
    }

    @Test func `gateways are probed unless nothing is tested`() throws {
        let off = "connectivity: {check: off}\ngateway_liveness: {interval: 5s}"
        #expect(try read(off).engineSettings.gatewayInterval == nil)
        #expect(try read("gateway_liveness: {interval: 5s}").engineSettings.gatewayInterval == .seconds(3600))
        let settings = try read("gateway_liveness: {enabled: true, interval: 5s}\ndebounce: {quiet: 3ms, cap: 4ms}")
            .engineSettings
        #expect(settings.gatewayInterval == .seconds(5) && settings.quiet == .milliseconds(3))
        #expect(settings.cap == .milliseconds(4) && settings.auditInterval == .seconds(30))
        #expect(try read("audit_interval: 0\nrecovery_hold: 7s").engineSettings.recoveryHold == .seconds(7))
    }

    @Test(arguments: ["networkmanager", "resolved", "modemmanager", "nl80211", "ethtool"])
    func `each provider can be left out alone`(name: String) throws {
        let all = try read("").providerOptions.enabled
        let rest = try read("providers: {\(name): false}").providerOptions.enabled
        #expect(all.count - rest.count == 1)
        let missing = try #require(all.subtracting(rest).first).rawValue.lowercased()
        #expect(missing.hasSuffix(name))
    }

    @Test func `the endpoint gets the operator's limits and names`() throws {
        let text = """
            hosts: [a.example, b]
            embed_badge: true
            dns: {resolv_conf: /x}
            mdns: {census_interval: 30s, max_types: 7}
            limits: {max_connections: 99, max_streams: 9, header_timeout: 1s, idle_timeout: 2s, max_header_size: 4KiB}
            """
        let configuration = try read(text)
        let server = configuration.serverConfiguration(ProtectionFiles(configuration))
        #expect(server.hostNames == ["a.example", "b"] && server.api.streams == 9 && server.embedsBadge)
        #expect(server.server.connections == 99 && server.server.connectionsPerListener == 99)
        #expect(server.server.headDeadline == .seconds(1) && server.server.idleDeadline == .seconds(2))
        #expect(server.server.request.head == 4096)
        #expect(configuration.providerOptions.resolvConf == "/x")
        #expect(configuration.censusSettings.interval == .seconds(30) && configuration.censusSettings.maximumTypes == 7)
    }
}

@Suite struct ServiceErrorTests {
    @Test(
        arguments: [
            (
                .directory(path: "/p", reason: Errno(EROFS)),
                "/p: cannot use the directory: Read-only file system (EROFS)"
            ),
            (
                .refused(FileRefusal(path: "/tmp/x", cause: .foreignDirectory(owner: 7))),
                "/tmp/x: the directory belongs to user 7, in a directory that other users can write to; "
                    + "run as that user, or use another path"
            ),
            (
                .log(.refused(FileRefusal(path: "/tmp/l", cause: .link))),
                "/tmp/l: a symbolic link in a directory that others may write to; name the file itself"
            ),
            (
                .recording(file: "/r", reason: Errno(ENOSPC)),
                "/r: cannot write the recording: No space left on device (ENOSPC)"
            ),
            (.loop(Errno(EMFILE)), "cannot make an event loop: Too many open files (EMFILE)"),
            (
                .log(.locked(file: "/l", holder: nil)),
                "/l: is in use by another nwpath; use another log file"
            ),
            (.server(.pathTaken(path: "/s")), "cannot listen on unix:/s: the path exists and is not a socket"),
            (
                .netlink(.noSocket(step: "socket", code: EAFNOSUPPORT)),
                "no netlink: socket: Address family not supported by protocol (EAFNOSUPPORT); the service needs AF_NETLINK "
                    + "sockets (a sandbox may forbid them)"
            ),
        ] as [(ServiceError, String)]
    )
    func `why the service cannot run is one line`(error: ServiceError, text: String) {
        #expect(error.description == text)
    }
}

@Suite(.enabled(if: geteuid() == 0)) struct DirectoryPreparationTests {
    private func configuration(_ state: String, sockets: [String]) -> Configuration {
        var configuration = Configuration(paths: StandardPaths(userID: 0, environment: [:]))
        configuration.stateDirectory = state
        configuration.listen = sockets.map { .unix(path: $0) } + [.tcp(ScopedAddress(.v6(1)), port: 1)]
        return configuration
    }

    @Test func `every socket gets its directory, however deep, and one that is there stays as it is`() throws {
        let scratch = try Scratch()
        try Command.run(["mkdir", "-m", "2711", scratch.file("mine")])
        let sockets = [scratch.file("a/b/c/api.sock"), scratch.file("mine/api.sock"), scratch.file("mine/other.sock")]
        try RuntimeDirectories().prepare(configuration(scratch.file("lib/x"), sockets: sockets))
        try RuntimeDirectories().prepare(configuration(scratch.file("lib/x"), sockets: sockets))
        #expect(try scratch.mode("a/b/c") == "755 root" && scratch.mode("a") == "755 root")
        #expect(try scratch.mode("mine") == "2711 root" && scratch.mode("lib/x") == "750 root")
    }

    @Test func `what stands in the way is named`() throws {
        let scratch = try Scratch()
        try scratch.write("", to: "file")
        try Command.run(["ln", "-s", "/nonexistent/place", scratch.file("dangling")])
        func refusal(_ state: String, _ socket: String) -> ServiceError? {
            do throws(ServiceError) {
                try RuntimeDirectories().prepare(configuration(scratch.file(state), sockets: [scratch.file(socket)]))
                return nil
            } catch {
                return error
            }
        }
        let notDirectory = Errno(ENOTDIR)
        #expect(refusal("file", "s/a.sock") == .directory(path: scratch.file("file"), reason: notDirectory))
        #expect(refusal("file/x", "s/a.sock") == .directory(path: scratch.file("file/x"), reason: notDirectory))
        #expect(refusal("state", "file/a.sock") == .directory(path: scratch.file("file"), reason: notDirectory))
        #expect(refusal("dangling", "s/a.sock") == .directory(path: scratch.file("dangling"), reason: .noEntry))
        #expect(refusal("state", "s/a.sock") == nil)
    }

    @Test func `a read-only place is refused before anything is opened`() throws {
        var directories = RuntimeDirectories()
        directories.user = 0
        let state = "/proc/nwpath"
        #expect(throws: ServiceError.self) { try directories.prepare(configuration(state, sockets: [])) }
    }

    @Test func `the fallback in a shared place is closed to others, even when it was left open`() throws {
        // Users that machines seldom have, so that the test stands in nobody's way, and that a user namespace has.
        let user = uid_t.random(in: 60_000...64_000)
        let path = "/tmp/nwpath-\(user)"
        try Command.run(["install", "-d", "-m", "755", "-o", "\(user)", path])
        defer { _ = try? Command.run(["rm", "-r", path]) }
        var directories = RuntimeDirectories()
        directories.user = user
        try directories.prepare(configuration(path, sockets: [path + "/api.sock"]))
        #expect(try Command.run(["stat", "-c", "%a", path]).trimmed == "700")
        // Another name in the same place is left as its owner made it.
        let other = path + "-own"
        try Command.run(["install", "-d", "-m", "755", "-o", "\(user)", other])
        defer { _ = try? Command.run(["rm", "-r", other]) }
        try directories.prepare(configuration(other, sockets: []))
        #expect(try Command.run(["stat", "-c", "%a", other]).trimmed == "755")
        directories.user = user - 1
        #expect(throws: ServiceError.refused(FileRefusal(path: path, cause: .foreignDirectory(owner: user)))) {
            try directories.prepare(configuration(path, sockets: []))
        }
    }
}

@Suite(.inNamespace) struct EarlierRunsTests {
    @Test func `history of earlier runs is read in pieces, and is the same as read at once`() async throws {
        let scratch = try Scratch()
        let clock = ManualClock()
        let identity = DaemonIdentity(version: "0", revision: "r", processID: 1, bootID: nil)
        let path = scratch.file("events.jsonl")
        let begin = clock.wall
        for _ in 0..<3 {
            let log = try EventLog(path: path, options: .init(identity: identity), clock: clock)
            let hub = EventHub(EventHub.Options(host: "h"), after: log.recovered, clock: clock)
            hub.attach(log)
            hub.publish(DaemonStarted(identity: identity, configuration: nil, digest: nil))
            for number in 0..<400 {
                clock.advance(by: .seconds(1))
                hub.publish(NetlinkOverrun(total: UInt64(number), resync: .zero, changesFound: 0))
            }
            // A crash: no word of the end.
            clock.advance(by: .seconds(1000))
        }
        let loop = Namespace.current.loop
        let log = try EventLog(path: path, options: .init(identity: identity), clock: clock)
        let index = HistoryIndex(loop: loop)
        #expect(index.reading == .complete)
        index.read(log: path, upTo: log.recovered)
        #expect(index.reading != .complete)
        await loop.eventually("the end of the log") { index.reading == .complete }
        let document = index.history(monitor: "default", since: begin, until: clock.wall).document(at: clock.wall)
        #expect(document.knownSeconds == 0 && document.outages.isEmpty)
        index.stop()
        // A log that is not there is no past.
        let empty = HistoryIndex(loop: loop)
        empty.read(log: scratch.file("none"), upTo: log.recovered)
        await loop.eventually("nothing to read") { empty.reading == .complete }
        empty.read(log: path, upTo: nil)
        #expect(empty.reading == .complete)
    }
}

@Suite(.inNamespace) struct UnreadableHistoryTests {
    private let loop = Namespace.current.loop
    private let clock = ManualClock()
    private let identity = DaemonIdentity(version: "0", revision: "r", processID: 1, bootID: nil)

    private struct Forever: Worker.Job {
        mutating func advance() -> Int? { nil }
    }

    private func log(at path: String) throws -> (log: EventLog, hub: EventHub) {
        let log = try EventLog(path: path, options: .init(identity: identity), clock: clock)
        let hub = EventHub(EventHub.Options(host: "h"), after: log.recovered, clock: clock)
        hub.attach(log)
        hub.publish(DaemonStarted(identity: identity, configuration: nil, digest: nil))
        return (log, hub)
    }

    private func tell(_ path: Path, to hub: EventHub) {
        hub.publish(PathSnapshot(monitor: "default", path: PathDocument(path), sentence: "is so"))
    }

    @Test func `without a thread the history is not complete, and is read once there is one`() async throws {
        let scratch = try Scratch()
        let (log, hub) = try log(at: scratch.file("events.jsonl"))
        let worker = Worker(loop: loop, capacity: 1)
        let ticket = try worker.start({ Forever() }, completion: { _ in })
        let index = HistoryIndex(loop: loop, worker: worker, retryInterval: .milliseconds(20))
        index.read(log: scratch.file("events.jsonl"), upTo: hub.position)
        #expect(index.reading == .failed(reason: "cannot create a thread"))
        ticket.cancel()
        await loop.eventually("the log is read") { index.reading == .complete }
        withExtendedLifetime(log) {}
    }

    @Test func `a log that cannot be read is told, and is read once it can`() async throws {
        let scratch = try Scratch()
        let path = scratch.file("events.jsonl")
        let (log, hub) = try log(at: path)
        try Command.run(["sh", "-c", "mv \(path) \(path)_ && mkdir \(path)"])
        let index = HistoryIndex(loop: loop, retryInterval: .milliseconds(20))
        index.read(log: path, upTo: hub.position)
        await loop.eventually("the failure") { if case .failed = index.reading { true } else { false } }
        #expect(index.reading == .failed(reason: "\(path): cannot read: Is a directory (EISDIR)"))
        try Command.run(["sh", "-c", "rmdir \(path) && mv \(path)_ \(path)"])
        await loop.eventually("the log is read") { index.reading == .complete }
        withExtendedLifetime(log) {}
    }

    @Test func `what a damaged file held is unknown, and the files after it are read`() async throws {
        let scratch = try Scratch()
        let path = scratch.file("events.jsonl")
        let (log, hub) = try log(at: path)
        let begin = clock.wall
        for (number, isSatisfied) in [true, false, true].enumerated() {
            tell(isSatisfied ? Path(status: .satisfied, reason: nil) : Path(reason: .noCarrier), to: hub)
            clock.advance(by: .seconds(10))
            hub.publish(NetlinkOverrun(total: 1, resync: .zero, changesFound: 0))
            guard number < 2 else { break }
            let old = "\(path)-\(number)"
            try Command.run(["mv", path, old])
            log.reopen()
            hub.prepareJournal()
            guard number == 1 else { continue }
            try Command.run(["sh", "-c", "gzip \(old) && truncate -s -30 \(old).gz"])
        }
        let end = clock.wall
        let index = HistoryIndex(loop: loop, clock: clock)
        index.read(log: path, upTo: hub.position)
        await loop.eventually("the log is read") { index.reading == .complete }
        let document = index.history(monitor: "default", since: begin, until: end).document(at: end)
        #expect(document.knownSeconds == 20 && document.satisfiedSeconds == 20)
        #expect(document.unknown.count == 1)
    }
}

@Suite struct UpdatePublisherTests {
    private func path(by gateway: UInt32) -> Path {
        let interface = PathInterface(name: "eth0", index: 2, type: .wiredEthernet)
        let router = Gateway(address: ScopedAddress(.v4(gateway)), interface: "eth0", family: .ipv4)
        let family = FamilyPath(interfaces: [interface], gateways: [router], source: .v4(0xC000_0202))
        return Path(status: .satisfied, reason: nil, interfaces: [interface], ipv4: family)
    }

    @Test func `what follows from a path is told after it`() {
        let change = PathChange(
            previous: path(by: 0xC000_0201),
            current: path(by: 0xC000_0203),
            changed: [.gateways],
            previousDuration: .seconds(1),
            at: .zero
        )
        let update = EngineUpdate(
            cause: EngineCause(.route, source: "rtnetlink", received: WallTime(nanoseconds: 0)),
            changes: [],
            paths: [.init(monitor: "default", change: change, flapping: .publish)],
            flappingEnded: ["default": 3],
            evaluation: .zero,
            at: .zero,
            isFirst: false
        )
        let hub = EventHub(EventHub.Options(host: "h"))
        var names: [EventName] = []
        hub.addSink { names.append($0.name) }
        UpdatePublisher(hub: hub).publish(update)
        #expect(names == [.pathChanged, .pathFlapping])
        names = []
        hub.minimumSeverity = .debug
        UpdatePublisher(hub: hub).publish(update)
        #expect(names == [.pathChanged, .gatewayChanged, .pathFlapping])
    }

    /// What is published of a change of the path from `old` to `new`, and of what else the update has.
    private func published(_ old: Path, _ new: Path, _ changes: [ModelChange] = []) -> [String] {
        let change = PathChange(previous: old, current: new, changed: [.status], previousDuration: .zero, at: .zero)
        let update = EngineUpdate(
            cause: EngineCause(.link, source: "rtnetlink", received: WallTime(nanoseconds: 0)),
            changes: changes,
            paths: [.init(monitor: "default", change: change, flapping: .publish)],
            flappingEnded: [:],
            evaluation: .zero,
            at: .zero,
            isFirst: false
        )
        let hub = EventHub(EventHub.Options(host: "h"))
        var names: [String] = []
        hub.addSink { names.append($0.name.rawValue) }
        UpdatePublisher(hub: hub).publish(update)
        return names
    }

    @Test func `name servers that only cannot be reached are in the path's record, others are not`() {
        func resolved(by servers: [UInt32], isUsable: Bool) -> Path {
            var path = path(by: 0xC000_0201)
            path.dns = DNSState(
                servers: servers.map { DNSServer(ScopedAddress(.v4($0))) },
                source: "test",
                isUsable: isUsable
            )
            return path
        }
        let usable = resolved(by: [0xC000_0235], isUsable: true)
        #expect(published(usable, resolved(by: [0xC000_0235], isUsable: false)) == ["path.changed"])
        #expect(published(usable, resolved(by: [0xC000_0236], isUsable: true)) == ["path.changed", "dns.changed"])
    }
}
