// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

@testable import nwpath

@Suite(.inNamespace) struct SetupTests {
    private static let change = "+connectivity:\n+  check: public\n"

    @Test func `a missing file is made, and nothing is written twice`() async throws {
        let tool = Tool(scratch: try Scratch())
        let file = tool.scratch.file("new/nwpath.yaml")
        let made = try await tool.run("setup", "--public", "--yes", "--config", file)
        #expect(made.status == 0 && made.messages == "", "\(made)")
        let end = "the service is not running; the change takes effect when it starts\n"
        #expect(made.output == "\(file):1:\n\(Self.change)\(file) now has connectivity.check: public\n\(end)")
        #expect(tool.scratch.read("new/nwpath.yaml") == "connectivity:\n  check: public\n")
        #expect(try Command.run(["stat", "-c", "%a", file, tool.scratch.file("new")]) == "644\n755\n")
        let again = try await tool.run("setup", "--public", "--config", file)
        #expect(again.status == 0)
        #expect(again.output == "\(file) already has connectivity.check: public\n\(end)")
    }

    @Test func `permissions and owner stay`() async throws {
        let tool = Tool(scratch: try Scratch())
        let file = try tool.scratch.write("# mine\nconnectivity: {check: off}\n", to: "nwpath.yaml")
        try Command.run(["chmod", "640", file])
        try Command.run(["chown", "0:7", file])
        #expect(try await tool.run("setup", "--local", "--yes").status == 0)
        #expect(tool.scratch.read("nwpath.yaml") == "# mine\nconnectivity: {check: local}\n")
        #expect(try Command.run(["stat", "-c", "%a %u %g", file]) == "640 0 7\n")
        #expect(try Command.run(["ls", tool.scratch.path]).contains("nwpath.yaml.new") == false)
    }

    @Test func `without a terminal the change is shown and not written`() async throws {
        let tool = Tool(scratch: try Scratch())
        let shown = try await tool.run("setup", "--public")
        #expect(shown.status == 1 && shown.output.hasSuffix(Self.change))
        #expect(shown.messages == "nwpath: nothing was written; use --yes\n")
        let open = try await tool.run("setup", "--yes")
        #expect(open.status == 2 && open.messages == "nwpath: give --local, --public or --off\n")
        #expect(try await tool.run("setup", "--public", "--off").status == 2)
        #expect(try await tool.run("setup", "--publik").messages.contains("--public"))
        #expect(tool.scratch.read("nwpath.yaml") == "")
    }

    @Test func `somebody at a terminal chooses and agrees`() async throws {
        let tool = Tool(scratch: try Scratch())
        func type(_ answers: String) async throws -> Result {
            try await tool.pipe("printf '\(answers)' | script -qec \"$*\" /dev/null", "setup")
        }
        let no = try await type("off\\nn\\n")
        #expect(no.status == 1 && tool.scratch.read("nwpath.yaml") == "", "\(no)")
        let yes = try await type("publc\\npublic\\ny\\n")
        #expect(yes.status == 0 && tool.scratch.read("nwpath.yaml") == "connectivity:\n  check: public\n", "\(yes)")
        for text in ["local: one query", "did you mean 'public'?", "Write this to "] {
            #expect(yes.output.contains(text), "\(yes.output)")
        }
    }

    @Test func `what cannot be edited safely stays`() async throws {
        let tool = Tool(scratch: try Scratch())
        func refused(_ text: String, _ message: String) async throws {
            let file = try tool.scratch.write(text, to: "nwpath.yaml")
            let result = try await tool.run("setup", "--public", "--yes")
            #expect(result.status == 1 && result.output == "")
            #expect(result.messages.hasPrefix("nwpath: \(file):\(message)"), "\(result)")
            #expect(tool.scratch.read("nwpath.yaml") == text)
        }
        try await refused("x: 1\n", "1:1: unknown key 'x'")
        try await refused("connectivity:\n\tcheck: off\n", "2:1: not valid YAML")
        try await refused("{ignore: []}\n", "1: cannot be edited safely")
        try Command.run(["mv", tool.scratch.file("nwpath.yaml"), tool.scratch.file("real.yaml")])
        try Command.run(["ln", "-s", "real.yaml", tool.scratch.file("nwpath.yaml")])
        let link = try await tool.run("setup", "--public", "--yes")
        #expect(link.status == 1 && link.messages.hasSuffix("a symbolic link; name the file itself\n"), "\(link)")
        try await writable(tool)
    }

    private func writable(_ tool: Tool) async throws {
        let file = try tool.scratch.write("", to: "open.yaml")
        try Command.run(["chmod", "666", file])
        let result = try await tool.run("setup", "--public", "--yes", "--config", file)
        #expect(result.status == 1 && result.messages.contains("lets all users write"), "\(result)")
    }

    @Test func `what counts more than the file is named`() async throws {
        var tool = Tool(scratch: try Scratch())
        try Command.run(["mkdir", tool.scratch.file("conf.d")])
        let drop = try tool.scratch.write("connectivity: {check: off}\n", to: "conf.d/a.yaml")
        let below = try await tool.run("setup", "--public", "--yes")
        #expect(below.status == 0 && below.messages == "nwpath: \(drop):1:23 overrides it\n")
        tool.environment = ["NWPATH_CONNECTIVITY_CHECK": "off"]
        let environment = try await tool.run("setup", "--local", "--yes")
        #expect(environment.messages == "nwpath: environment NWPATH_CONNECTIVITY_CHECK overrides it\n")
    }

    @Test func `the file of the package stays, and a drop-in beside it is made`() async throws {
        let tool = Tool(scratch: try Scratch())
        let script = """
            mount -t tmpfs tmpfs /etc && mkdir /etc/nwpath || exit
            cd /etc/nwpath
            echo "connectivity: {check: local}" >nwpath.yaml
            run() { "$@"; echo "status $?"; }
            run "$@"
            cat nwpath.yaml conf.d/setup.yaml
            stat -c %a conf.d conf.d/setup.yaml
            mkdir -p conf.d
            echo "connectivity: {check: off}" >conf.d/a.yaml
            run "$@"
            echo "connectivity: {check: off}" >conf.d/t.yaml
            run "$@"
            """
        let words = ["unshare", "-m", "bash", "-c", script, "bash", try Tool.program, "setup", "--public", "--yes"]
        let result = try await tool.run(program: words)
        let drop = "/etc/nwpath/conf.d/setup.yaml"
        let end = "the service is not running; the change takes effect when it starts\nstatus 0\n"
        let again = "\(drop) already has connectivity.check: public\n" + end
        let made = "\(drop):1:\n\(Self.change)\(drop) now has connectivity.check: public\n" + end
        let kept = "connectivity: {check: local}\nconnectivity:\n  check: public\n755\n644\n"
        #expect(result.output == made + kept + again + again, "\(result)")
        #expect(result.messages == "nwpath: /etc/nwpath/conf.d/t.yaml:1:23 overrides it\n")
    }

    @Test func `a running service takes it`() async throws {
        let service = try Service()
        try await service.start()
        let off = try await service.ask("setup", "--off", "--yes")
        #expect(off.status == 0, "\(off)")
        #expect(off.output.hasSuffix("in use: off: nothing is tested; service discovery stays on (mdns.enabled)\n"))
        // A flag of this service counts more.
        let other = try await service.ask("setup", "--public", "--yes")
        #expect(other.status == 1 && other.output.contains("configuration reloaded: nothing changed\n"))
        #expect(other.messages.hasPrefix("nwpath: the service has connectivity.check: off in use; "), "\(other)")
    }
}
