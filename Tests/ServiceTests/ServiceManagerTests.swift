// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import ServiceSupport
import TestSupport
import Testing

/// What systemd is told (sd_notify(3)), heard by a socket in its place.
@Suite(.inNamespace) struct ServiceManagerTests {
    @Test func `the manager hears of readiness, the path, the watchdog, reloads and the end`() async throws {
        let scratch = try Scratch()
        let heard = scratch.file("heard")
        let listener = try RunningCommand([
            "socat", "-u", "UNIX-RECV:" + scratch.file("notify"), "OPEN:\(heard),creat,append",
        ])
        let loop = Namespace.current.loop
        await loop.eventually(within: .seconds(20), "the socket") { scratch.exists("notify") }
        let process = try RunningCommand(
            [
                "nsenter", "--net=\(Namespace.current.path)", "env", "NOTIFY_SOCKET=" + scratch.file("notify"),
                "WATCHDOG_USEC=100000", try Place.program, "serve", "--no-mdns", "--listen",
                "unix:" + scratch.file("api.sock"),
            ] + DaemonFiles.options(in: scratch),
            captures: true
        )
        func hears(_ words: String...) async {
            await loop.eventually(within: .seconds(20), "\(words)") {
                let text = (try? scratch.text("heard")) ?? ""
                return words.allSatisfy(text.contains)
            }
        }
        await hears("READY=1", "STATUS=✗ Offline: ", "WATCHDOG=1")
        await loop.eventually(within: .seconds(20), "ten times, at half the time the manager allows") {
            // One datagram follows the other without a line feed.
            let text = (try? scratch.text("heard")) ?? ""
            return text.split(separator: "WATCHDOG=1", omittingEmptySubsequences: false).count > 10
        }
        process.signal(SIGHUP)
        await hears("RELOADING=1\nMONOTONIC_USEC=")
        process.signal(SIGTERM)
        #expect(Service.outcome(of: process).code == 0)
        await hears("STOPPING=1")
        LiveJSON.check(log: scratch.file("events.jsonl"))
        withExtendedLifetime(listener) {}
    }
}
