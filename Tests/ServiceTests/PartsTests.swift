// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Configuration
import Documents
import Glibc
import LinuxIO
import Metrics
import ServiceSupport
import TestSupport
import Testing

@testable import PathService

/// The daemon's own small parts.
@Suite struct PartsTests {
    private let paths = StandardPaths(userID: 0, environment: [:])

    private func read(_ text: String) throws -> Configuration {
        let source = Configuration.Source(name: "nwpath.yaml", bytes: Array(text.utf8))
        return try Configuration.read([source], paths: paths)
    }

    @Test func `a reload keeps exactly what needs a restart`() throws {
        let old = try read("")
        let new = try read(
            """
            listen: [127.0.0.1:9000]
            hosts: [a.example.test]
            insecure: true
            state_dir: /other
            log: {file: /other/e.jsonl, level: debug, max_size: 1MiB, max_age: 1h, keep: 1}
            debounce: {quiet: 1ms, cap: 2ms}
            audit_interval: 1m
            recovery_hold: 1s
            ignore: [x0]
            interfaces: {eth0: {required: true}}
            monitors: {a: {required_type: wifi}}
            gateway_liveness: {enabled: true, strict: true, interval: 5s}
            dns: {resolv_conf: /other}
            providers: {networkmanager: false, resolved: false, modemmanager: false, nl80211: false, ethtool: false}
            require_vpn: true
            mdns: {enabled: false, census_interval: 5m, interfaces: [eth0], watched: [_ipp._tcp], max_types: 9}
            limits: {max_connections: 99, max_streams: 9, header_timeout: 1s, idle_timeout: 2s, max_header_size: 4KiB}
            """
        )
        let merged = new.inForce(after: old, isExposed: false)
        let all = new.difference(from: old)
        #expect(all.restartNeeded.count == 18)
        #expect(merged.difference(from: old).restartNeeded == [])
        let left = Set(new.difference(from: merged).changed)
        // With liveness itself its conditions wait as well.
        #expect(left.subtracting(all.restartNeeded).allSatisfy { $0.hasPrefix("gateway_liveness.") })
        #expect(Set(all.restartNeeded).subtracting(left) == [])
    }

    @Test(
        arguments: [
            (0, nil), (99, nil), (-99, nil), (100, 100), (-3_600_000, -3_600_000), (3_600_000, 3_600_000),
        ] as [(Int, Int?)]
    )
    func `a step of the calendar is told when it is one`(milliseconds: Int, expected: Int?) {
        let clock = ManualClock()
        var step = CalendarStep(wall: clock.wall, boot: clock.boot)
        clock.advance(by: .seconds(50))
        clock.suspend(for: .seconds(50))
        #expect(step.observe(wall: clock.wall, boot: clock.boot) == nil)
        clock.step(wallBy: .milliseconds(milliseconds))
        #expect(step.observe(wall: clock.wall, boot: clock.boot) == expected.map { Duration.milliseconds($0) })
        #expect(step.observe(wall: clock.wall, boot: clock.boot) == nil || expected == nil)
    }

    @Test func `small steps in one direction add up`() {
        let clock = ManualClock()
        var step = CalendarStep(wall: clock.wall, boot: clock.boot)
        clock.step(wallBy: .milliseconds(60))
        #expect(step.observe(wall: clock.wall, boot: clock.boot) == nil)
        clock.step(wallBy: .milliseconds(60))
        #expect(step.observe(wall: clock.wall, boot: clock.boot) == .milliseconds(120))
    }

    private final class Part: DaemonPart {
        private let name: String
        private let tell: (String) -> Void

        init(_ name: String, _ tell: @escaping (String) -> Void) {
            self.name = name
            self.tell = tell
        }

        var problems: [ProblemDocument] { [ProblemDocument(part: name, message: "tired")] }

        func register(in registry: MetricRegistry) {
            let family = MetricFamily("part_\(name)_info", .info, help: "A part.", labels: ["name"])
            registry.add { [name] in $0.write(info: family, name) }
        }

        func stop() { tell("stop \(name)") }
    }

    @Test func `parts start in order and stop backwards, also after one that cannot start`() throws {
        var told: [String] = []
        let registry = MetricRegistry()
        let parts = DaemonParts(registry: registry)
        let (first, second, third) = (
            Part("a") { told.append($0) }, Part("b") { told.append($0) }, Part("c") { told.append($0) }
        )
        parts.start(first) { _ in told.append("start a") }
        #expect(throws: Errno.accessDenied) {
            try parts.start(second) { _ throws(Errno) in
                told.append("start b")
                throw Errno.accessDenied
            }
        }
        #expect(parts.problems.map(\.part) == ["a", "b"])
        let scraped = String(decoding: registry.scrape(), as: UTF8.self)
        #expect(scraped.contains("part_a_info{name=\"a\"} 1") && scraped.contains("part_b_info{name=\"b\"} 1"))
        parts.stop()
        #expect(told == ["start a", "start b", "stop b", "stop a"] && parts.problems.isEmpty)
        parts.add(third)
        parts.stop()
        #expect(told.last == "stop c" && told.count == 5)
    }

    @Test(.inNamespace) func `fifty daemons in a row leave no descriptor open`() async throws {
        let loop = Namespace.current.loop
        let scratch = try Scratch()
        let configuration = try read(
            """
            listen: ["unix:\(scratch.file("api.sock"))", "127.0.0.1:0"]
            state_dir: \(scratch.path)
            log: {file: \(scratch.file("events.jsonl"))}
            mdns: {enabled: true}
            """
        )
        let options = ServiceOptions(
            configuration: configuration,
            files: ConfigurationFiles(standard: paths),
            paths: paths,
            environment: [:],
            version: "0",
            report: { _ in }
        )
        var counts: [Int] = []
        for _ in 0..<50 {
            weak var gone: Daemon?
            do {
                let daemon = try Daemon(loop: loop, options: options)
                gone = daemon
                var isStopped = false
                try daemon.start { isStopped = true }
                await loop.sleep(for: .milliseconds(1))
                daemon.stop(signal: nil)
                await loop.eventually(within: .seconds(20), "the end") { isStopped }
            }
            await loop.eventually(within: .seconds(20), "the release") { gone == nil }
            // Other tests of this process open descriptors too; the sockets of this namespace are the daemon's alone.
            let sockets = ["netlink", "unix", "tcp", "tcp6", "udp", "udp6"].map { "/proc/net/\($0)" }
            counts.append(try Namespace.current.run(["cat"] + sockets).lines.count)
        }
        // Closed sockets may linger for a moment; a leak would add one a daemon.
        #expect((counts.suffix(10).min() ?? .max) <= (counts.prefix(10).max() ?? 0) + 5)
        LiveJSON.check(log: scratch.file("events.jsonl"))
    }
}

/// Directories in shared places.
@Suite struct RuntimeDirectoriesTests {
    private func prepare(_ scratch: Scratch, socket: String, as user: uid_t = geteuid()) throws(ServiceError) {
        var configuration = Configuration(paths: StandardPaths(userID: 0, environment: [:]))
        configuration.stateDirectory = scratch.file("state")
        configuration.listen = [.unix(path: scratch.file(socket))]
        var directories = RuntimeDirectories()
        directories.user = user
        try directories.prepare(configuration)
    }

    @Test(arguments: [(0, "755"), (65534, "700")] as [(uid_t, String)])
    func `missing directories are made, for root open to readers`(user: uid_t, mode: String) throws {
        let scratch = try Scratch()
        try prepare(scratch, socket: "a/b/api.sock", as: user)
        #expect(try scratch.mode("a/b").hasPrefix(mode) && scratch.mode("a").hasPrefix(mode))
        #expect(try scratch.mode("state").hasPrefix("750"))
    }

    @Test func `in a shared place our own is closed to others, and anybody else's is refused`() throws {
        let scratch = try Scratch()
        func refusal(_ name: String, _ cause: FileRefusal.Cause) -> ServiceError {
            .refused(FileRefusal(path: scratch.file(name), cause: cause))
        }
        try Command.run(["mkdir", "-p", "-m", "1777", scratch.file("tmp")])
        try Command.run(["install", "-d", "-o", "60001", scratch.file("tmp/x")])
        #expect(throws: refusal("tmp/x", .foreignDirectory(owner: 60001))) {
            try prepare(scratch, socket: "tmp/x/api.sock", as: geteuid() + 1)
        }
        try Command.run(["ln", "-s", "/run", scratch.file("tmp/link")])
        try Command.run(["chown", "-h", "60001", scratch.file("tmp/link")])
        #expect(throws: refusal("tmp/link", .foreignLink(owner: 60001))) {
            try prepare(scratch, socket: "tmp/link/api.sock", as: geteuid() + 1)
        }
        // Further down it is no less theirs.
        try Command.run(["mkdir", "-p", "-m", "1777", scratch.file("tmp/deep")])
        try Command.run(["install", "-d", "-o", "60001", scratch.file("tmp/deep/other")])
        try Command.run(["mkdir", scratch.file("tmp/deep/other/own")])
        #expect(throws: refusal("tmp/deep/other", .foreignDirectory(owner: 60001))) {
            try prepare(scratch, socket: "tmp/deep/other/own/api.sock")
        }
        // In a place of our own, whoever made it is welcome.
        try Command.run(["mkdir", "-p", scratch.file("own/x")])
        try prepare(scratch, socket: "own/x/api.sock", as: geteuid() + 1)
        #expect(try scratch.mode("own/x").hasPrefix("755 "))
    }
}
