// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import TestSupport

@testable import PathService
@testable import Probes

/// What earlier runs of a daemon left in its state directory.
enum Past {
    /// A month as the log tells it: two short outages in the last day, one longer ago, and an hour without a daemon.
    static func log(at now: WallTime, host: String = "h", days: Int = 26) -> String {
        var sequence = 0
        func line(_ ago: Int, _ event: String, _ message: String, _ rest: String = "", isError: Bool = false) -> String
        {
            sequence += 1
            let head = #"{"time":"\#(now - .seconds(ago))","seq":\#(sequence),"stream":"7f3a","#
            return head + #""schema":"nwpath.event/1","event":"\#(event)","#
                + #""severity":"\#(isError ? "error" : "info")","host":"\#(host)","message":"\#(message)"\#(rest)}"#
                + "\n"
        }
        func path(_ ago: Int, _ isSatisfied: Bool) -> String {
            let status = isSatisfied ? "satisfied" : "unsatisfied"
            let reason = isSatisfied ? "null" : "\"no_carrier\""
            let body = #","monitor":"default","path":{"status":"\#(status)","unsatisfied_reason":\#(reason)}"#
            let end = isSatisfied ? " via eth0" : ": eth0 has no carrier"
            return line(ago, "path.changed", "Path default is \(status)\(end)", body, isError: !isSatisfied)
        }
        let (hour, day) = (3600, 86_400)
        let opening = line(
            days * day,
            "log.opened",
            "Event log opened",
            #","log":{"file":"\#(String(repeating: "x", count: 200))"}"#
        )
        func started(_ ago: Int) -> String { line(ago, "daemon.started", "nwpath 0.1.0 started") }
        return [
            opening, started(days * day), path(days * day, true), path(10 * day, false), path(10 * day - 7200, true),
            path(20 * hour, false), path(20 * hour - 240, true),
            line(9 * hour, "daemon.stopping", "Stopping on SIGTERM"),
            started(8 * hour), path(8 * hour, true), path(3 * hour, false), path(3 * hour - 72, true),
            line(1, "census.completed", "Census completed"),
        ].joined()
    }

    /// A day of probes beside that log: what each usually takes, in microseconds, by name, method and target.
    static func probes(
        _ usual: [(name: String, method: String, target: String, microseconds: Int)],
        at now: WallTime
    ) -> String {
        var bytes = ProbeHistoryFormat.header(at: now)
        var random = SeededRandom(seed: 7)
        for probe in usual {
            var record = ProbeRecord()
            for ago in stride(from: 86_400, to: 0, by: -60) where !(28_800...32_400).contains(ago) {
                let isDown = (71_760...72_000).contains(ago) || (10_728...10_800).contains(ago)
                let isBusy = (40_000...46_000).contains(ago)
                var percent = Int.random(in: 100...140, using: &random)
                if isBusy { percent += Int.random(in: 40...160, using: &random) }
                let answer = ProbeResult(.success, duration: .microseconds(probe.microseconds * percent / 100))
                record.append(isDown ? ProbeResult(.failure(.timeout, detail: "")) : answer, at: now - .seconds(ago))
            }
            let key = ProbeKey(name: probe.name, method: probe.method, target: probe.target)
            for tier in ProbeTier.allCases where !record[tier].isEmpty {
                bytes += ProbeHistoryFormat.line(key, tier, record[tier])
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
