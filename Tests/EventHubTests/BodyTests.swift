// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

@Suite struct BodyTests {
    static let identity = DaemonIdentity(
        version: "0.1.0",
        revision: "deadbeef",
        processID: 4120,
        bootID: "3425f4fe012b44569af56e749ceba8ef"
    )
    static let bodies: [(any EventBody, String, String)] = [
        (
            LogOpened(
                file: "/var/log/nwpath/events.jsonl",
                reason: .started,
                previousSequence: 39,
                inode: 7,
                repairedBytes: 0,
                identity: identity
            ),
            "info log.opened Event log opened",
            #""log":{"file":"/var/log/nwpath/events.jsonl","reason":"started","previous_seq":39,"inode":7,"#
                + #""boot_id":"3425f4fe012b44569af56e749ceba8ef","repaired_bytes":0},"#
                + #""daemon":{"version":"0.1.0","revision":"deadbeef","pid":4120}}"#
        ),
        (
            LogGap(file: "/l", lost: 3...5, error: "ENOSPC", duration: .milliseconds(1500)),
            "warning log.gap 3 events are missing from the log: ENOSPC",
            #""log":{"file":"/l","first_seq":3,"last_seq":5,"lost":3,"error":"ENOSPC","duration_seconds":1.5}}"#
        ),
        (
            LogGap(file: "/l", lost: 3...3, error: "EIO", duration: .zero),
            "warning log.gap 1 event is missing from the log: EIO",
            #""log":{"file":"/l","first_seq":3,"last_seq":3,"lost":1,"error":"EIO","duration_seconds":0}}"#
        ),
        (
            DaemonStarted(identity: identity, configuration: "/etc/nwpath/nwpath.yaml", digest: "5f2c"),
            "info daemon.started nwpath 0.1.0 started",
            #""daemon":{"version":"0.1.0","pid":4120,"config":"/etc/nwpath/nwpath.yaml","config_sha256":"5f2c","#
                + #""previous_alive":null,"unwatched_seconds":null}}"#
        ),
        (
            DaemonStarted(identity: identity, configuration: nil, digest: nil),
            "info daemon.started nwpath 0.1.0 started",
            #""daemon":{"version":"0.1.0","pid":4120,"config":null,"config_sha256":null,"previous_alive":null,"#
                + #""unwatched_seconds":null}}"#
        ),
        (
            DaemonStarted(
                identity: identity,
                configuration: nil,
                digest: nil,
                previousAlive: WallTime(nanoseconds: 1_795_176_000_000_000_000),
                unwatched: .milliseconds(9_500)
            ),
            "info daemon.started nwpath 0.1.0 started",
            #""daemon":{"version":"0.1.0","pid":4120,"config":null,"config_sha256":null,"#
                + #""previous_alive":"2026-11-20T12:00:00.000000000Z","unwatched_seconds":9.5}}"#
        ),
        (
            DaemonStopping(signal: "SIGTERM", uptime: .seconds(3070)),
            "info daemon.stopping Stopping on SIGTERM", #""daemon":{"signal":"SIGTERM","uptime_seconds":3070}}"#
        ),
        (
            DaemonStopping(signal: nil, uptime: .microseconds(1_234_567)),
            "info daemon.stopping Stopping", #""daemon":{"signal":null,"uptime_seconds":1.235}}"#
        ),
        (
            ConfigurationReloaded(path: "/c", changed: ["interfaces.required"], restartNeeded: []),
            "info config.reloaded Configuration reloaded",
            #""config":{"path":"/c","changed":["interfaces.required"],"restart_needed":[]}}"#
        ),
        (
            ConfigurationReloaded(path: "/c", changed: ["a", "b"], restartNeeded: ["b"]),
            "warning config.reloaded Configuration reloaded; a restart is needed for b",
            #""config":{"path":"/c","changed":["a","b"],"restart_needed":["b"]}}"#
        ),
        (
            ConfigurationRejected(path: "/c", errors: ["c:1:2: no"]),
            "error config.rejected Configuration rejected; the previous one stays in use: c:1:2: no",
            #""config":{"path":"/c","errors":["c:1:2: no"]}}"#
        ),
        (
            NetlinkOverrun(total: 1, resync: .milliseconds(12), changesFound: 4),
            "warning netlink.overrun Netlink receive buffer overrun; all state re-read from the kernel",
            #""netlink":{"overruns_total":1,"resync_seconds":0.012,"changes_found":4}}"#
        ),
        (
            ClockJumped(.suspended(for: .seconds(90))),
            "info clock.jumped The machine was suspended for 90 s", #""clock":{"kind":"suspend","jump_seconds":90}}"#
        ),
        (
            ClockJumped(.stalled(for: .seconds(7))),
            "info clock.jumped The service was stalled for 7 s", #""clock":{"kind":"stall","jump_seconds":7}}"#
        ),
        (
            ClockJumped(.stepped(by: .seconds(-3600))),
            "info clock.jumped The system clock was stepped back by 3600 s",
            #""clock":{"kind":"step","jump_seconds":-3600}}"#
        ),
        (
            ClockJumped(.stepped(by: .milliseconds(500))),
            "info clock.jumped The system clock was stepped forward by 0.5 s",
            #""clock":{"kind":"step","jump_seconds":0.5}}"#
        ),
        (
            RouteChanged(
                family: "ipv6",
                prefixLength: 0,
                table: 254,
                isRemoved: true,
                cause: EventCause(kind: "route", source: "rtnetlink")
            ),
            "debug route.changed IPv6 route of length 0 removed from table 254",
            #""route":{"family":"ipv6","prefix_length":0,"table":254,"removed":true},"#
                + #""cause":{"kind":"route","source":"rtnetlink"}}"#
        ),
    ]

    @Test(arguments: bodies.indices)
    func `writes its data after the envelope`(index: Int) throws {
        let (body, summary, data) = Self.bodies[index]
        #expect("\(body.severity) \(body.name) \(body.message)" == summary)
        let event = try EventHub.sample().draft(body)
        let text = String(decoding: event.json, as: UTF8.self)
        #expect(text.hasSuffix("\"message\":\"" + body.message + "\"," + data))
        let form = Form.object().members(of: Event.form).members(of: body.name.form)
        #expect(form.problems(in: try #require(event.value)) == [])
        #expect(event.value?.object?.keys.count == 8 + (try JSONValue(parsing: "{" + data).object?.keys.count ?? 0))
    }

    @Test func `a first record is over 256 bytes even when everything in it is short`() throws {
        let nobody = DaemonIdentity(version: "", revision: "", processID: 1, bootID: nil)
        let body = LogOpened(
            file: "/",
            reason: .started,
            previousSequence: nil,
            inode: 1,
            repairedBytes: 0,
            identity: nobody
        )
        let hub = EventHub(EventHub.Options(host: ""), after: try EventPosition("7f3a.0"))
        #expect(hub.draft(body).json.count > 256)
    }

    @Test func `a refused configuration names its first problems only`() throws {
        let event = try EventHub.sample().draft(ConfigurationRejected(path: "/c", errors: (0..<1000).map { "\($0)" }))
        #expect(event.value?["config"]?["errors"]?.array?.count == 20)
    }
}
