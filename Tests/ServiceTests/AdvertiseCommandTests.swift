// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import ServiceSupport
import TestSupport
import Testing

/// `nwpath advertise` on one machine, seen by `nwpath browse` and `resolve` on another.
@Suite(.inNamespace) struct AdvertiseCommandTests {
    private var loop: EventLoop { Namespace.current.loop }

    /// Runs the program here; its output goes to files of the scratch directory.
    private func advertise(_ words: [String], in scratch: Scratch, to name: String = "out") throws -> RunningCommand {
        let script = "exec \"$@\" > \(scratch.file(name)) 2> \(scratch.file("err"))"
        let inside = ["nsenter", "--net=\(Namespace.current.path)", "sh", "-c", script, "sh"]
        return try RunningCommand(inside + [try Place.program, "advertise"] + words)
    }

    private func events(_ scratch: Scratch, _ name: String = "out") throws -> [String] {
        guard scratch.exists(name) else { return [] }
        return LiveJSON.check(try scratch.text(name), by: .command).lines.compactMap { try? JSONValue(parsing: $0) }
            .compactMap {
                $0["event"]?.string
            }
    }

    @Test func `the neighbour finds it, resolves it, and hears the goodbye`() async throws {
        let neighbour = try Neighbour()
        let scratch = try Scratch()
        let words = ["Dr. No's", "_lamp._tcp", "8080", "path=/m", "flag", "--subtype", "_blue", "--json"]
        let offer = try advertise(words + ["--host", "desk", "--address", "192.0.2.2"], in: scratch)
        try await loop.eventually(within: .seconds(60), "the name") { try events(scratch) == ["registered"] }
        let program = try Place.program
        let resolved = try neighbour.run([program, "resolve", "_lamp._tcp/Dr. No's", "--json"], captures: true).finish()
        let service = try JSONValue(parsing: resolved)["service"]
        #expect(service?["host"]?.string == "desk.local" && service?["port"]?.int == 8080)
        #expect(service?["addresses"]?.array == [.string("192.0.2.2")])
        #expect(service?["txt"]?["path"]?.string == "/m" && service?["txt"]?["flag"] == .null)
        let host = try neighbour.run([program, "resolve", "desk"], captures: true).finish()
        #expect(host == "desk.local  192.0.2.2  peer0\n")
        let script = "exec \(program) browse _lamp._tcp,_blue --json > \(scratch.file("seen"))"
        let browse = try neighbour.run(["sh", "-c", script])
        try await loop.eventually(within: .seconds(60), "the service") {
            try events(scratch, "seen").prefix(2) == ["found", "resolved"]
        }
        offer.signal(SIGTERM)
        #expect(offer.wait() == 0)
        #expect(try events(scratch) == ["registered", "withdrawn"])
        try await loop.eventually(within: .seconds(60), "the goodbye") { try events(scratch, "seen").last == "lost" }
        #expect(try scratch.text("seen").lines.last?.contains("\"reason\":\"goodbye\"") == true)
        withExtendedLifetime(browse) {}
    }

    @Test func `a name that is taken gets a number, or is given up`() async throws {
        let neighbour = try Neighbour()
        let scratch = try Scratch()
        let words = ["advertise", "Lamp", "_lamp._tcp", "1", "--host", "a", "--address", "192.0.2.1", "--json"]
        let script = "exec \"$@\" > \(scratch.file("first"))"
        let first = try neighbour.run(["sh", "-c", script, "sh", try Place.program] + words)
        try await loop.eventually(within: .seconds(60), "the first") { try events(scratch, "first") == ["registered"] }
        let here = ["Lamp", "_lamp._tcp", "2", "--host", "b", "--address", "192.0.2.2"]
        let second = try advertise(here, in: scratch, to: "second")
        try await loop.eventually(within: .seconds(60), "the second") {
            try scratch.exists("second") && scratch.text("second").contains("Lamp (2) (_lamp._tcp) is registered")
        }
        #expect(try scratch.text("second").lines.first == "! Lamp is taken; it is Lamp (2) (_lamp._tcp) now")
        second.signal(SIGINT)
        #expect(second.wait() == 130)
        #expect(try advertise(here + ["--no-rename"], in: scratch, to: "third").wait() == 1)
        #expect(try scratch.text("third") == "✗ Lamp (_lamp._tcp) is taken\n")
        withExtendedLifetime(first) {}
    }

    @Test func `it ends at its limit, and before it speaks when it cannot`() async throws {
        let neighbour = try Neighbour()
        let scratch = try Scratch()
        let words = ["Lamp", "_lamp._tcp", "1", "--host", "b", "--address", "192.0.2.2"]
        #expect(try advertise(words + ["--timeout", "4s"], in: scratch).wait() == 0)
        #expect(try scratch.text("out").lines.last == "- Lamp (_lamp._tcp) is withdrawn")
        #expect(try advertise(words + ["--timeout", "10ms"], in: scratch).wait() == 3)
        for (wrong, message) in [
            (["Lamp", "lamp.tcp", "1"], "did you mean '_lamp._tcp'?"),
            (["Lamp", "_lamp._tcp", "70000"], "PORT is '70000'"),
            (["Lamp", "_lamp._tcp", "1", "=x"], "TXT key"), (["", "_lamp._tcp", "1"], "NAME is ''"),
            (["Lamp", "_lamp._tcp", "1", "--address", "1.2.3.4"], "--address needs --host"),
        ] {
            #expect(try advertise(wrong, in: scratch).wait() == 2)
            let text = try scratch.text("err")
            #expect(text.contains(message), "\(text)")
        }
        #expect(try advertise(words + ["--interface", "up9"], in: scratch).wait() == 1)
        withExtendedLifetime(neighbour) {}
    }

    @Test func `a link that was down for 0.2 s is probed and announced on again`() async throws {
        let neighbour = try Neighbour()
        let scratch = try Scratch()
        let listener = try GroupListener(on: neighbour)
        let words = ["Lamp", "_lamp._tcp", "1", "--host", "b", "--address", "192.0.2.2", "--json"]
        let offer = try advertise(words, in: scratch)
        let name = "Lamp._lamp._tcp.local"
        try await loop.eventually("the name") { try events(scratch) == ["registered"] }
        await loop.eventually("two announcements") { listener.claims(of: name).announcements >= 2 }
        let before = listener.claims(of: name)
        try Namespace.current.set("up0", isUp: false)
        await loop.sleep(for: .milliseconds(200))
        try Namespace.current.set("up0", isUp: true)
        await loop.eventually("new probes", found: listener.claims(of: name)) {
            listener.claims(of: name).probes >= before.probes + 3
                && listener.claims(of: name).announcements > before.announcements
        }
        offer.signal(SIGTERM)
        #expect(offer.wait() == 0)
        #expect(try events(scratch) == ["registered", "withdrawn"])
    }

    @Test func `where no interface is up it waits for one, unless its time is limited`() async throws {
        let scratch = try Scratch()
        let words = ["Lamp", "_lamp._tcp", "1", "--host", "b", "--address", "192.0.2.2", "--json"]
        #expect(try advertise(words + ["--timeout", "3s"], in: scratch).wait() == 1)
        #expect(try scratch.text("err") == "nwpath: no interface to use: no interface is up\n")
        let offer = try advertise(words, in: scratch)
        let waiting = "nwpath: no interface is up yet; waiting for one\n"
        try await loop.eventually("the message") { try scratch.text("err") == waiting }
        let neighbour = try Neighbour()
        try await loop.eventually("the name") { try events(scratch) == ["registered"] }
        offer.signal(SIGTERM)
        #expect(offer.wait() == 0)
        #expect(try scratch.text("err") == waiting)
        withExtendedLifetime(neighbour) {}
    }

    @Test func `avahi finds what is offered, and what avahi offers is found`() async throws {
        let neighbour = try Neighbour()
        let scratch = try Scratch()
        let avahi = try await AvahiPeer(in: neighbour.namespace, hostName: "avahi-peer", interface: "peer0")
        let words = [
            "Büro: Dr. No's", "_lamp._tcp", "8080", "path=/m", "--host", "desk", "--address", "192.0.2.2", "--json",
        ]
        let offer = try advertise(words, in: scratch)
        try await loop.eventually(within: .seconds(60), "the name") { try events(scratch) == ["registered"] }
        await loop.eventually(within: .seconds(60), "avahi-browse") {
            let browse = avahi.inside + ["timeout", "10", "avahi-browse", "-rpt", "_lamp._tcp"]
            let seen = (try? RunningCommand(browse, captures: true).finish()) ?? ""
            return seen.contains(";desk.local;192.0.2.2;8080;\"path=/m\"")
        }
        let published = try avahi.publish("From Avahi", "_door._tcp", 77, ["a=b"])
        let found = ["nsenter", "--net=\(Namespace.current.path)", try Place.program]
        await loop.eventually(within: .seconds(60), "the service of avahi") {
            let resolve = found + ["resolve", "_door._tcp/From Avahi", "--timeout", "3s"]
            let text = (try? RunningCommand(resolve, captures: true).finish()) ?? ""
            return text.contains(":77 192.0.2.1") && text.contains("a=b")
        }
        withExtendedLifetime((avahi, offer, published)) {}
    }
}
