// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import ServiceSupport
import TestSupport
import Testing

/// `nwpath browse` as users run it, beside a machine that offers services, and without a daemon.
@Suite(.inNamespace) struct BrowseCommandTests {
    private var loop: EventLoop { Namespace.current.loop }

    /// Starts the program; its output goes to files of the scratch directory.
    private func start(_ words: [String], in scratch: Scratch) throws -> RunningCommand {
        let script = "exec \"$@\" > \(scratch.file("out")) 2> \(scratch.file("err"))"
        let inside = ["nsenter", "--net=\(Namespace.current.path)", "sh", "-c", script, "sh", try Place.program]
        return try RunningCommand(inside + words)
    }

    private func objects(_ scratch: Scratch) throws -> [JSONValue] {
        guard scratch.exists("out") else { return [] }
        let text = LiveJSON.check(try scratch.text("out"), by: .command)
        return try text[..<(text.lastIndex(of: "\n") ?? text.startIndex)].split(separator: "\n").map {
            try JSONValue(parsing: String($0))
        }
    }

    private func events(_ scratch: Scratch, of name: String) throws -> [String] {
        try objects(scratch).filter { $0["service"]?["name"]?.string == name }.compactMap { $0["event"]?.string }
    }

    @Test func `follows several types at once: found, resolved, changed and lost`() async throws {
        let neighbour = try Neighbour()
        let scratch = try Scratch()
        let browse = try start(["browse", "_lamp._tcp", "_door._udp", "--json", "--interface", "up0"], in: scratch)
        let lamp = Neighbour.Offer("Lamp", "_lamp._tcp").with { $0.text = [Array("on=1".utf8)] }
        let door = Neighbour.Offer("Front \u{1B}[31mDoor", "_door._udp")
        let other = Neighbour.Offer("Unwanted", "_cat._tcp")
        try neighbour.offer([lamp, door, other], in: scratch)
        try await loop.eventually(within: .seconds(60), "both services") {
            try events(scratch, of: "Lamp").contains("resolved")
                && events(scratch, of: "Front \\027[31mDoor").contains("resolved")
        }
        #expect(try events(scratch, of: "Lamp").prefix(2) == ["found", "resolved"])
        let resolved = try #require(try objects(scratch).first { $0["event"]?.string == "resolved" })["service"]
        #expect(resolved?["port"]?.int == 9100 && resolved?["addresses"]?[0]?.string == "192.0.2.1")
        try neighbour.offer([lamp.with { $0.port = 9101 }], in: scratch)
        try await loop.eventually(within: .seconds(60), "the change") {
            try objects(scratch).contains {
                $0["event"]?.string == "changed" && $0["service"]?["port"]?.int == 9101
                    && $0["previous"]?["port"]?.int == 9100
            }
        }
        neighbour.leave()
        try await loop.eventually(within: .seconds(60), "the loss") {
            try objects(scratch).contains {
                $0["event"]?.string == "lost" && $0["removed"]?["reason"]?.string == "goodbye"
            }
        }
        #expect(try events(scratch, of: "Unwanted").isEmpty)
        browse.signal(SIGINT)
        #expect(browse.wait() == 128 + SIGINT)
    }

    @Test func `--once ends by itself, with 0 and with 1`() async throws {
        let neighbour = try Neighbour()
        let scratch = try Scratch()
        let none = try start(["browse", "_none._tcp", "--once"], in: scratch)
        #expect(none.wait() == 1)
        #expect(try scratch.text("err") == "nwpath: no services were found\n")
        try neighbour.offer([Neighbour.Offer("Lamp", "_lamp._tcp")], in: scratch)
        let one = try start(["browse", "_lamp._tcp", "--once"], in: scratch)
        #expect(one.wait() == 0)
        let lines = try scratch.text("out").lines
        #expect(lines.first == "+ _lamp._tcp  Lamp  up0")
        #expect(lines.contains { $0.hasPrefix("= _lamp._tcp  Lamp  up0  lamp.local:9100 192.0.2.1") }, "\(lines)")
    }

    @Test func `without a type it browses each that turns up, and calls it by its name`() async throws {
        let neighbour = try Neighbour()
        let scratch = try Scratch()
        try neighbour.offer(
            [Neighbour.Offer("Lamp", "_lamp._tcp"), Neighbour.Offer("Hall", "_esphomelib._tcp")],
            in: scratch
        )
        #expect(try start(["browse", "--once"], in: scratch).wait() == 0)
        let lines = try scratch.text("out").lines
        #expect(lines.contains { $0.hasPrefix("+ _lamp._tcp  Lamp  up0") }, "\(lines)")
        #expect(lines.contains { $0.hasPrefix("= _lamp._tcp  Lamp  up0  lamp.local:9100 192.0.2.1") }, "\(lines)")
        let named = "= _esphomelib._tcp  Hall  up0  ESPHome device  lamp.local:9100 192.0.2.1"
        #expect(lines.contains { $0.hasPrefix(named) }, "\(lines)")

        let later = try Scratch()
        let browse = try start(["browse", "--json"], in: later)
        try await loop.eventually(within: .seconds(60), "the lamp") {
            try events(later, of: "Lamp").contains("resolved")
        }
        try neighbour.offer([Neighbour.Offer("Door", "_door._udp")], in: scratch)
        try await loop.eventually(within: .seconds(60), "a type that nobody had named") {
            try events(later, of: "Door").contains("resolved")
        }
        neighbour.leave()
        try await loop.eventually(within: .seconds(60), "the goodbye") {
            try events(later, of: "Door").contains("lost")
        }
        #expect(try events(later, of: "Door").prefix(2) == ["found", "resolved"])
        #expect(try objects(later).first?["service"]?["type_name"]?.string != nil)
        browse.signal(SIGINT)
        #expect(browse.wait() == 128 + SIGINT)
    }

    @Test func `without a type and without a service it says so, and looks on one interface only`() async throws {
        let neighbour = try Neighbour()
        let scratch = try Scratch()
        #expect(try start(["browse", "--once"], in: scratch).wait() == 1)
        #expect(try scratch.text("err") == "nwpath: no services were found\n")
        try neighbour.offer([Neighbour.Offer("Lamp", "_lamp._tcp")], in: scratch)
        try Namespace.current.connect("other0", to: neighbour.namespace, as: "other1")
        try Namespace.current.ip("addr add 198.51.100.1/24 dev other0")
        #expect(try start(["browse", "--interface", "other0", "--timeout", "3s"], in: scratch).wait() == 1)
        #expect(try start(["browse", "--interface", "up0", "--timeout", "3s"], in: scratch).wait() == 0)
        #expect(try start(["browse", "--interface", "up1"], in: scratch).wait() == 1)
    }

    @Test func `a limit ends it whatever happens, and a reader that goes ends it too`() async throws {
        let neighbour = try Neighbour()
        let scratch = try Scratch()
        try neighbour.offer([Neighbour.Offer("Lamp", "_lamp._tcp")], in: scratch)
        #expect(try start(["browse", "_lamp._tcp", "--timeout", "2s"], in: scratch).wait() == 0)
        #expect(try start(["browse", "_none._tcp", "--timeout", "300ms", "-q"], in: scratch).wait() == 1)
        let script = "\(try Place.program) browse _none._tcp | true"
        let piped = try RunningCommand([
            "nsenter", "--net=\(Namespace.current.path)", "timeout", "20", "sh", "-c", script,
        ])
        #expect(piped.wait() == 0)
    }

    @Test func `a link that was down for 0.2 s is asked on anew`() async throws {
        let neighbour = try Neighbour()
        let scratch = try Scratch()
        let listener = try GroupListener(on: neighbour)
        let browse = try start(["browse", "_lamp._tcp", "--json"], in: scratch)
        try neighbour.offer([Neighbour.Offer("Lamp", "_lamp._tcp")], in: scratch)
        let type = "_lamp._tcp.local"
        await loop.eventually("the first question") { listener.firstQuestions(for: type) > 0 }
        try await loop.eventually("the service") { try events(scratch, of: "Lamp").contains("resolved") }
        let before = listener.firstQuestions(for: type)
        try Namespace.current.set("up0", isUp: false)
        await loop.sleep(for: .milliseconds(200))
        try Namespace.current.set("up0", isUp: true)
        await loop.eventually("a first question again") { listener.firstQuestions(for: type) > before }
        try await loop.eventually("the service again") {
            try events(scratch, of: "Lamp").drop { $0 != "lost" }.contains("resolved")
        }
        browse.signal(SIGINT)
        #expect(browse.wait() == 128 + SIGINT)
    }

    @Test func `where the interface is down it waits for it, unless its time is limited`() async throws {
        let neighbour = try Neighbour()
        let scratch = try Scratch()
        try Namespace.current.set("up0", isUp: false)
        let words = ["browse", "_lamp._tcp", "--interface", "up0"]
        for limit in [["--once"], ["--timeout", "3s"]] {
            #expect(try start(words + limit, in: scratch).wait() == 1)
            #expect(try scratch.text("err").hasPrefix("nwpath: no interface to use: up0 "))
        }
        try neighbour.offer([Neighbour.Offer("Lamp", "_lamp._tcp")], in: scratch)
        let browse = try start(words + ["--json"], in: scratch)
        try await loop.eventually("the message") {
            try scratch.text("err") == "nwpath: up0 is down or has no address yet; waiting for it\n"
        }
        try Namespace.current.set("up0", isUp: true)
        try await loop.eventually("the service") { try events(scratch, of: "Lamp").contains("resolved") }
        browse.signal(SIGINT)
        #expect(browse.wait() == 128 + SIGINT)
    }

    @Test func `what is asked wrongly is told with what was meant`() async throws {
        let neighbour = try Neighbour()
        let scratch = try Scratch()
        for (words, message) in [
            (["browse", "ipp.tcp"], "(did you mean '_ipp._tcp'?)"),
            (["browse", "_ipp._tcp", "--onec"], "(did you mean '--once'?)"),
        ] {
            #expect(try start(words, in: scratch).wait() == 2)
            let told = try scratch.text("err")
            #expect(told.contains(message), "\(told)")
        }
        #expect(try start(["browse", "_ipp._tcp", "--interface", "up1"], in: scratch).wait() == 1)
        #expect(try scratch.text("err").hasSuffix("or has no address; did you mean 'up0'?\n"))
        withExtendedLifetime(neighbour) {}
    }
}
