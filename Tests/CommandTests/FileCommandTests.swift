// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

@testable import nwpath

@Suite(.inNamespace) struct FileCommandTests {
    /// A daemon that saw two outages, the second of which is ongoing.
    private func broken() async throws -> Service {
        let service = try Service()
        try service.connect()
        try await service.start()
        try Namespace.current.ip("route del default")
        try await service.settle("unsatisfied")
        try Namespace.current.ip("route add default via 192.0.2.1")
        try await service.settle("satisfied")
        try Namespace.current.ip("route del default")
        try await service.settle("unsatisfied")
        return service
    }

    @Test func `history tells outages, from the daemon and from the file alike`() async throws {
        let service = try await broken()
        let text = try await service.ask("history")
        #expect(text.status == 0)
        #expect(text.output.hasPrefix("Headline from ") && text.output.contains(" % available, "))
        #expect(text.output.contains("2 outages, "))
        #expect(text.output.contains("  ongoing "))
        let outages = try await service.ask("history", "--outages")
        #expect(outages.output.split(separator: "\n").count == 3)
        let path = try await service.ask("history", "--state", "path")
        #expect(path.output.hasPrefix("Path default from ") && path.output.contains("2 outages, "))
        let csv = try await service.ask("history", "--csv", "--state", "path")
        let lines = csv.output.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines[0] == "start,end,duration_seconds,reason,message")
        #expect(lines[2].hasSuffix(",no_default_route,Path default is unsatisfied: no default route"))
        let asked = try await service.ask("history", "--json").json
        service.kill()
        let read = try await service.tool.run("history", "--file", service.log, "--json").json
        let starts = { (history: JSONValue) in history.list("outages").map { $0.text("start") } }
        #expect(starts(read) == starts(asked))
        #expect(starts(read).count == 2 && read["state"]?.string == "headline")
        let early = try await service.tool.run(
            "history",
            "--file",
            service.log,
            "--until",
            asked.text("since"),
            "--since",
            "9d"
        )
        #expect(early.output.contains("no data for this period"))
    }

    @Test func `history ends where it is told to`() async throws {
        let service = try await broken()
        let all = try await service.ask("history", "--json").json
        let second = all.list("outages")[1].text("start")
        let first = try await service.ask("history", "--json", "--until", second, "--since", "1h").json
        #expect(first.text("until") == second)
        #expect(first.list("outages").first == all.list("outages").first)
        #expect(try await service.ask("history", "--monitor", "nope").status == 1)
        #expect(try await service.ask("history", "--since", "2999-01-01T00:00:00Z").status == 2)
    }

    @Test func `history and log verify say what they cannot read`() async throws {
        let tool = Tool(scratch: try Scratch())
        let missing = try await tool.run("history", "--file", tool.scratch.file("none"))
        #expect(missing.status == 1)
        #expect(missing.messages.contains("none: cannot open the log: No such file or directory"))
        let foreign = try tool.scratch.write("root:x:0:0\n", to: "foreign")
        #expect(try await tool.run("history", "--file", foreign).messages.contains("is not an nwpath event log"))
        #expect(try await tool.run("log", "verify", tool.scratch.file("none")).status == 1)
        let standard = try await tool.run("log", "verify")
        #expect(standard.status == 1)
        #expect(standard.output.contains("\(tool.scratch.file("events.jsonl")):1: "))
        let config = try tool.scratch.write("log:\n  file: \"-\"\n", to: "nwpath.yaml")
        let stdout = try await tool.run("log", "verify")
        #expect(stdout.status == 2)
        #expect(stdout.messages == "nwpath: the log goes to standard output; name a FILE\n")
        unsafe unlink(config)
    }

    @Test func `log verify finds nothing wrong with a good log, and what is wrong with a bad one`() async throws {
        let service = try await broken()
        service.kill()
        let good = try await service.tool.run("log", "verify")
        #expect(good.status == 0)
        #expect(good.output.hasPrefix("✓ "))
        #expect(try await service.tool.run("log", "verify", "-q").output == "")
        let log = service.scratch.file("spoilt.jsonl")
        try Command.run(["cp", service.log, log])
        try Command.run(["sed", "-i", "2d;4s/severity/gravity/", log])
        try Command.run(["gzip", "-k", log])
        for file in [log, log + ".gz"] {
            let bad = try await service.tool.run("log", "verify", file)
            #expect(bad.status == 1)
            #expect(bad.output.contains("\(file):2: seq 2 is missing\n"))
            #expect(bad.output.contains("\(file):3: expected member 'severity', found 'gravity'\n"))
        }
        let json = try await service.tool.run("log", "verify", log, "--json")
        #expect(json.status == 1)
        #expect(try json.json.list("problems").contains { $0["line"]?.int == 3 && $0.text("file") == log })
    }

    @Test func `config check names file, line and column`() async throws {
        let tool = Tool(scratch: try Scratch())
        let none = try await tool.run("config", "check")
        #expect(none.status == 0)
        #expect(none.output.hasSuffix("/nwpath.yaml does not exist; using the defaults\n"))
        let bad = try tool.scratch.write("interfaces:\n  eth0:\n    reqired: true\nx: 1\n", to: "bad.yaml")
        let result = try await tool.run("config", "check", "--file", bad)
        #expect(result.status == 1)
        #expect(result.output.hasPrefix("\(bad):3:5: unknown key 'reqired'"))
        #expect(result.output.split(separator: "\n").count == 2)
        let quiet = try await tool.run("config", "check", "--file", bad, "-q")
        #expect(quiet.status == 1 && quiet.output == "" && quiet.messages.contains("\(bad):"), "\(quiet)")
        let json = try await tool.run("config", "check", "--file", bad, "--json").json
        #expect(json["valid"]?.bool == false)
        #expect(json.list("problems").first?.text("place") == "\(bad):3:5")
        _ = try tool.scratch.write("requires_vpn: false\n", to: "nwpath.yaml")
        #expect(try await tool.run("config", "check").status == 1)
        _ = try tool.scratch.write("", to: "nwpath.yaml")
        #expect(try await tool.run("config", "check").output.hasSuffix("nwpath.yaml: configuration OK\n"))
        #expect(try await tool.run("config", "check", "--file", tool.scratch.file("none")).status == 1)
    }

    @Test func `config show prints what was set, or everything`() async throws {
        var tool = Tool(scratch: try Scratch())
        #expect(try await tool.run("config", "show").output == "# all settings have their default values\n")
        let set = "interfaces:\n  eth0:\n    required: true\nmdns:\n  census_interval: 30s\n"
        let file = try tool.scratch.write(set, to: "set.yaml")
        #expect(try await tool.run("config", "show", "--file", file).output == set)
        let json = try await tool.run("config", "show", "--file", file, "--json").json
        #expect(
            json
                == (try JSONValue(
                    parsing: "{\"interfaces\":{\"eth0\":{\"required\":true}},\"mdns\":{\"census_interval\":\"30s\"}}"
                ))
        )
        let effective = try await tool.run("config", "show", "--file", file, "--effective")
        #expect(effective.output.contains("debounce:"))
        // What is in force is itself a configuration that says the same.
        let copy = try tool.scratch.write(effective.output, to: "copy.yaml")
        #expect(try await tool.run("config", "show", "--file", copy).output == set)
        tool.environment["NWPATH_REQUIRE_VPN"] = "true"
        #expect(try await tool.run("config", "show").output == "require_vpn: true\n")
        let bad = try tool.scratch.write("x: 1\n", to: "bad.yaml")
        let refused = try await tool.run("config", "show", "--file", bad)
        #expect(refused.status == 1)
        #expect(refused.messages.contains("bad.yaml:1:1: unknown key 'x'"))
    }

    @Test func `log schema is the JSON Schema of events`() async throws {
        let schema = try await Tool(scratch: try Scratch()).run("log", "schema").json
        #expect(schema.text("title") == "nwpath.event/1")
        #expect(schema["$defs"]?["path"] != nil)
    }

    @Test func `config schema is the JSON Schema`() async throws {
        let schema = try await Tool(scratch: try Scratch()).run("config", "schema").json
        #expect(schema.text("$schema") == "https://json-schema.org/draft/2020-12/schema")
        #expect(schema["properties"]?["interfaces"] != nil)
    }
}
