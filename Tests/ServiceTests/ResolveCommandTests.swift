// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// `nwpath resolve` as users run it, beside a machine that offers services, and without a daemon.
@Suite(.inNamespace) struct ResolveCommandTests {
    private var loop: EventLoop { Namespace.current.loop }

    private func run(_ words: [String]) throws -> Outcome {
        let inside = ["nsenter", "--net=\(Namespace.current.path)", try Place.program, "resolve"]
        return Service.outcome(of: try RunningCommand(inside + words, captures: true))
    }

    private func offer(in scratch: Scratch) throws -> Neighbour {
        let neighbour = try Neighbour()
        let lamp = Neighbour.Offer("Dr. Lamp", "_lamp._tcp").with { $0.text = [Array("on=1".utf8)] }
        try neighbour.offer([lamp], in: scratch)
        return neighbour
    }

    @Test func `a host has addresses, an address has a host`() async throws {
        let scratch = try Scratch()
        let neighbour = try offer(in: scratch)
        for name in ["lamp.local", "LAMP.local", "lamp"] {
            let outcome = try run([name])
            #expect(outcome.code == 0)
            #expect(outcome.output.lowercased() == "lamp.local  192.0.2.1  up0\n")
        }
        let object = try JSONValue(parsing: try run(["lamp", "--json", "--interface", "up0"]).output)
        #expect(object["event"]?.string == "resolved" && object["addresses"]?[0]?.string == "192.0.2.1")
        #expect(try run(["192.0.2.1"]) == Outcome(code: 0, output: "192.0.2.1  lamp.local  up0\n"))
        withExtendedLifetime((neighbour, scratch)) {}
    }

    @Test(arguments: [
        "_lamp._tcp/Dr. Lamp", "Dr. Lamp._lamp._tcp.local", "Dr\\. Lamp._lamp._tcp", "_lamp._tcp/DR. LAMP",
    ])
    func `a service has a place and a text`(text: String) async throws {
        let scratch = try Scratch()
        let neighbour = try offer(in: scratch)
        let outcome = try run([text])
        #expect(outcome.code == 0)
        #expect(outcome.output.lines.first?.hasPrefix("= _lamp._tcp  ") == true, "\(outcome.output)")
        #expect(outcome.output.contains("lamp.local:9100 192.0.2.1"))
        #expect(outcome.output.lines.last == "  on=1")
        withExtendedLifetime((neighbour, scratch)) {}
    }

    @Test func `nobody answers: 3 and a message; nonsense: 2`() async throws {
        let neighbour = try Neighbour()
        for name in ["nobody", "_lamp._tcp/None", "192.0.2.99"] {
            let outcome = try run([name, "--timeout", "500ms"])
            #expect(outcome.code == 3)
            #expect(outcome.output.hasPrefix("nwpath: no host answers for "), "\(outcome.output)")
        }
        #expect(try run(["www.example.com"]).code == 2)
        #expect(try run(["lamp", "--interface", "up7"]).code == 1)
        withExtendedLifetime(neighbour) {}
    }

    @Test func `--watch goes on with what changes`() async throws {
        let scratch = try Scratch()
        let neighbour = try offer(in: scratch)
        let script = "exec \"$@\" > \(scratch.file("out"))"
        let words = [try Place.program, "resolve", "_lamp._tcp/Dr. Lamp", "--watch", "--json"]
        let inside = ["nsenter", "--net=\(Namespace.current.path)", "sh", "-c", script, "sh"]
        let watch = try RunningCommand(inside + words)
        try await loop.eventually(within: .seconds(60), "the service") {
            try scratch.exists("out") && scratch.text("out").contains("\"event\":\"resolved\"")
        }
        try neighbour.offer([Neighbour.Offer("Dr. Lamp", "_lamp._tcp").with { $0.port = 9101 }], in: scratch)
        try await loop.eventually(within: .seconds(60), "the change") {
            try scratch.text("out").contains("\"port\":9101")
        }
        neighbour.leave()
        try await loop.eventually(within: .seconds(60), "the loss") {
            try scratch.text("out").contains("\"event\":\"lost\"")
        }
        withExtendedLifetime(watch) {}
    }
}
