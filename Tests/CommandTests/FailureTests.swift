// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// Every command that asks the daemon, as short as it can be.
private let asking: [[String]] = [
    ["watch"], ["status", "--monitor", "default"], ["services"], ["services", "--types"], ["services", "--watch"],
    ["services", "--once"], ["history"], ["traffic"], ["traffic", "--watch"], ["reload"],
]

@Suite(.inNamespace) struct FailureTests {
    @Test(arguments: asking)
    func `without a daemon it names the sockets and how to start, and exits with 4`(words: [String]) async throws {
        let tool = Tool(scratch: try Scratch())
        let usual = try await tool.run(words)
        #expect(usual.status == 4)
        #expect(usual.output == "")
        #expect(usual.messages.contains("/api.sock (No such file or directory)"))
        #expect(usual.messages.contains("systemctl status nwpath"))
        #expect(usual.messages.contains("nwpath serve"))
        #expect(usual.messages.split(separator: "\n").count == 1)
        let named = try await tool.run(words + ["--socket", tool.scratch.file("none.sock"), "--json"])
        #expect(named.status == 4)
        #expect(named.messages.contains("tried unix:\(tool.scratch.file("none.sock"))"))
    }

    @Test(arguments: [[], ["status"], ["status", "--brief"]])
    func `without a daemon the kernel is asked for the status`(words: [String]) async throws {
        let tool = Tool(scratch: try Scratch())
        let none = try await tool.run(words)
        #expect(none.status == 0 && none.firstLine == "✗ Offline", "\(none)")
        #expect(none.messages == "nwpath: the service is not running; showing the kernel's current state\n")
        let peer = try Namespace()
        try Namespace.current.connect("eth0", to: peer, as: "eth1")
        try Namespace.current.ipBatch(["addr add 192.0.2.2/24 dev eth0", "route add default via 192.0.2.1"])
        try Namespace.current.waitUntilRunning("eth0")
        let found = try await tool.run(words)
        #expect(found.status == 0 && found.firstLine == "? Connected")
        let quiet = try await tool.run(words + ["-q"])
        #expect(quiet.status == 0 && quiet.output == "" && quiet.messages == "")
        let json = try await tool.run(words + ["--json"]).json
        #expect(json["daemon"] == nil && json["since"] == nil && json["path"]?["status"]?.string == "satisfied")
        #expect(json["headline"]?["state"]?.string == "connected" && json["chain"]?.array?.count == 5)
        #expect(json["seq"] == nil && json["headline"]?["since"] == nil && json["chains"]?.array == [])
        // Whom somebody named is asked, and nobody else.
        let named = try await tool.run(words + ["--socket", tool.scratch.file("none.sock")])
        #expect(named.status == 4 && named.output == "")
    }

    @Test(arguments: [["interfaces"], ["interfaces", "--all"], ["interfaces", "eth0"], ["gateways"], ["dns"]])
    func `without a daemon the kernel is asked for a part of the status`(words: [String]) async throws {
        let tool = Tool(scratch: try Scratch())
        let peer = try Namespace()
        try Namespace.current.connect("eth0", to: peer, as: "eth1")
        try Namespace.current.ipBatch(["addr add 192.0.2.2/24 dev eth0", "route add default via 192.0.2.1"])
        try Namespace.current.waitUntilRunning("eth0")
        let text = try await tool.run(words)
        #expect(text.status == 0)
        #expect(text.messages == "nwpath: the service is not running; showing the kernel's current state\n")
        let part = words == ["dns"] ? "DNS: " : words == ["gateways"] ? "192.0.2.1  eth0" : "eth0"
        #expect(text.output.contains(part), "\(text.output)")
        let json = try await tool.run(words + ["--json", "-q"])
        #expect(try json.json["schema"]?.string?.hasPrefix("nwpath.") == true && json.messages == "")
        let named = try await tool.run(words + ["--socket", tool.scratch.file("none.sock")])
        #expect(named.status == 4 && named.output == "")
        let none = try await tool.run("interfaces", "eth7", "-q")
        #expect(none.status == 1 && none.messages == "nwpath: There is no interface 'eth7'.\n")
    }

    @Test func `without a daemon its log is read for the history`() async throws {
        let service = try Service()
        try service.connect()
        try await service.start()
        try Namespace.current.ip("route del default")
        try await service.settle("unsatisfied")
        service.kill()
        let history = try await service.tool.run("history")
        #expect(history.status == 0 && history.output.contains("\n1 outage, "), "\(history)")
        #expect(history.messages == "nwpath: the service is not running; read from \(service.log)\n")
        let json = try await service.tool.run("history", "--json", "-q")
        #expect(try json.json["state"]?.string == "headline" && json.messages == "")
        let empty = Tool(scratch: try Scratch())
        let none = try await empty.run("history")
        #expect(none.status == 4 && none.output == "" && none.messages.split(separator: "\n").count == 1)
        #expect(none.messages.contains("\(empty.scratch.file("events.jsonl")): cannot open the log: "), "\(none)")
    }

    /// Runs the program as an ordinary user beside a service of root, whose socket only root may open.
    private func runBesideRoot(_ tool: Tool, _ words: String...) async throws -> Result {
        let script = """
            mount -t tmpfs tmpfs /run; cp "$1" /run/nwpath-program; chmod 755 /run /run/nwpath-program
            /run/nwpath-program serve --log-file - --no-mdns >/run/log 2>&1 &
            until [ -S /run/nwpath/api.sock ]; do sleep 0.05; done
            chmod 700 /run/nwpath/api.sock; shift
            setpriv --reuid 65534 --regid 65534 --clear-groups env -i /run/nwpath-program "$@" || echo "status $?"
            kill %1; wait %1
            """
        try Namespace.current.set("lo", isUp: true)
        return try await tool.run(program: ["unshare", "-m", "bash", "-c", script, "bash", try Tool.program] + words)
    }

    @Test func `who may not open the socket asks the address that everybody on this machine may`() async throws {
        let result = try await runBesideRoot(Tool(scratch: try Scratch()), "status", "-v")
        #expect(result.output.hasPrefix("✗ Offline, for "), "\(result)")
        #expect(result.messages.contains("GET /api/v1/status from http://127.0.0.1:8353: status 200"))
    }

    @Test func `setup writes no file that the running service does not read`() async throws {
        let result = try await runBesideRoot(Tool(scratch: try Scratch()), "setup", "--public", "--yes")
        #expect(result.output == "status 5\n", "\(result)")
        #expect(result.messages.contains("the service at /run/nwpath/api.sock belongs to another user"), "\(result)")
    }

    @Test(arguments: asking)
    func `a daemon that never answers is given up after the timeout, with 3`(words: [String]) async throws {
        let tool = Tool(scratch: try Scratch())
        let server = try CannedServer(tool.scratch, answer: nil)
        let result = try await tool.run(words + ["--socket", server.path, "--timeout", "100ms"])
        #expect(result.status == 3)
        #expect(result.messages == "nwpath: timed out waiting for unix:\(server.path)\n")
    }

    @Test(arguments: asking)
    func `a refusal is told and exits with 5`(words: [String]) async throws {
        let tool = Tool(scratch: try Scratch())
        let server = try CannedServer(tool.scratch, answer: CannedServer.problem("403 Forbidden", "not you"))
        let result = try await tool.run(words + ["--socket", server.path])
        #expect(result.status == 5)
        #expect(result.messages.hasPrefix("nwpath: the service refused (403): not you\n"))
    }

    @Test(
        arguments: [
            ("421 Misdirected Request", 5), ("400 Bad Request", 2), ("404 Not Found", 1),
            ("503 Service Unavailable", 1),
            ("500 Internal Server Error", 1),
        ] as [(String, Int32)]
    )
    func `other errors have the exit status of their kind`(status: String, expected: Int32) async throws {
        let tool = Tool(scratch: try Scratch())
        let server = try CannedServer(tool.scratch, answer: CannedServer.problem(status, "so it is"))
        let result = try await tool.run("status", "--socket", server.path)
        #expect(result.status == expected)
        #expect(result.messages == "nwpath: so it is\n")
    }

    @Test(arguments: [
        "garbage\r\n\r\n", CannedServer.response("200 OK", "{\"path\":"), CannedServer.response("200 OK", ""),
    ])
    func `an answer that makes no sense exits with 4`(answer: String) async throws {
        let tool = Tool(scratch: try Scratch())
        let server = try CannedServer(tool.scratch, answer: answer)
        let result = try await tool.run("status", "--socket", server.path)
        #expect(result.status == 4)
        #expect(result.output == "")
        #expect(result.messages.contains("is not usable: "))
    }

    @Test(arguments: [
        "{}", "[]", "null", "{\"path\":3,\"interfaces\":[1,{\"name\":[]}],\"dns\":\"x\",\"monitors\":[null,[]]}",
    ])
    func `an object of another shape does no harm`(body: String) async throws {
        let tool = Tool(scratch: try Scratch())
        let server = try CannedServer(tool.scratch, answer: CannedServer.response("200 OK", body))
        for words in [["status"], ["interfaces"], ["interfaces", "x"], ["gateways"], ["dns"], ["history"]] {
            let result = try await tool.run(words + ["--socket", server.path])
            #expect(result.status == 0, "\(words): \(result.messages)")
        }
    }

    @Test func `a URL that nobody serves is named`() async throws {
        let tool = Tool(scratch: try Scratch(), environment: ["NWPATH_URL": "http://127.0.0.1:1"])
        let result = try await tool.run("status")
        #expect(result.status == 4)
        #expect(result.messages.contains("tried http://127.0.0.1:1 (Connection refused)"))
        let flag = try await tool.run("status", "--url", "http://127.0.0.1:2")
        #expect(flag.messages.contains("tried http://127.0.0.1:2 "))
    }

    @Test func `a URL works as well as a socket`() async throws {
        let service = try Service()
        try service.connect()
        try await service.start()
        var tool = service.tool
        tool.environment["NWPATH_URL"] = "unix:\(service.socket)"
        #expect(try await tool.run("status").status == 0)
        #expect(try await tool.run("status", "--url", "unix:\(service.socket)").status == 0)
        // The usual socket is found without help.
        #expect(try await service.tool.run("status").status == 0)
    }

    @Test(
        arguments: [
            (["status", "--url", "ftp://x"], "--url is 'ftp://x', expected http://"),
            (["status", "--url", "http://x", "--socket", "y"], "not both"),
            (["status", "x"], "unexpected argument 'x'"),
            (["staus"], "did you mean 'status'?"), (["watch", "--event", "pth.*"], "--event is 'pth.*'"),
            (["watch", "--since", "yesterday"], "--since is 'yesterday'"),
            (["watch", "-n", "0"], "whole number from 1"),
            (["wait", "ipv5"], "did you mean"), (["wait", "--any"], "--any needs conditions"),
            (["services", "ipp"], "a type such as _ipp._tcp"), (["services", "--watch", "--once"], "not both"),
            (["services", "--types", "--name", "x"], "--types takes no filter"),
            (["services", "--past", "--watch"], "--past cannot be combined with"),
            (["history", "--csv", "--json"], "not both"),
            (["history", "--since", "1h", "--until", "2h"], "before --until"),
            (["history", "--since", "x"], "--since is 'x'"), (["log"], "a command is missing"),
            (["config", "chek"], "did you mean 'check'?"), (["version", "--socket", "x"], "unknown option '--socket'"),
        ] as [([String], String)]
    )
    func `wrong usage is one line and exits with 2`(words: [String], expected: String) async throws {
        let result = try await Tool(scratch: try Scratch()).run(words)
        #expect(result.status == 2)
        #expect(result.output == "")
        #expect(result.messages.contains(expected), "\(result.messages)")
        #expect(result.messages.split(separator: "\n").count == 1)
    }
}
