// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

@testable import nwpath

@Suite(.inNamespace) struct WaitCommandTests {
    private var loop: EventLoop { Namespace.current.loop }

    @Test func `may be started before the daemon`() async throws {
        let service = try Service()
        let wait = try service.tool.launch("wait", "ipv4", "--json", "--socket", service.socket)
        try await service.start()
        try service.connect()
        await loop.eventually(within: .seconds(10), "the path") { wait.lines.count == 1 }
        #expect(wait.command.wait() == 0)
        let object = try #require(try wait.objects.first)
        #expect(object["satisfied"]?.bool == true)
        #expect(object["conditions"]?[0]?["condition"]?.string == "ipv4")
        #expect(wait.messages == "")
    }

    @Test func `says what is missing, a line each, and exits with 3`() async throws {
        let service = try Service()
        try service.connect()
        try await service.start()
        let words = ["satisfied", "ipv6", "interface=eth0", "interface=eth9", "service=_ipp._tcp/Office"]
        let result = try await service.tool.run(["wait"] + words + ["--timeout", "3s", "--socket", service.socket])
        #expect(result.status == 3)
        #expect(result.output == "")
        let lines = result.messages.split(separator: "\n").map(String.init)
        #expect(
            lines == [
                "nwpath: still waiting for: ipv6 (the path has no IPv6)",
                "nwpath: still waiting for: interface=eth9 (there is no interface eth9)",
                "nwpath: still waiting for: service=_ipp._tcp/Office (service discovery is off (mdns.enabled))",
            ]
        )
    }

    @Test func `says that an interface is ignored, and sees it when it is not any more`() async throws {
        let service = try Service()
        try service.connect()
        try Namespace.current.ipBatch([
            "link add virt7 type veth peer name virt8", "link set virt7 up", "link set virt8 up",
        ])
        try await service.start()
        let result = try await service.ask("wait", "interface=lo", "interface=virt9", "--timeout", "2s")
        #expect(result.status == 3)
        let expected = """
            nwpath: still waiting for: interface=lo (lo is ignored, so it is not reported; see 'nwpath interfaces --all')
            nwpath: still waiting for: interface=virt9 (there is no interface virt9)

            """
        #expect(result.messages == expected)
        let help = try await service.tool.run("wait", "--help")
        #expect(help.output.contains("and is not ignored"))
        // A virtual link is ignored until a default route leads to it.
        let wait = try service.tool.launch("wait", "interface=virt7", "--timeout", "20s", "--socket", service.socket)
        try Namespace.current.ipBatch([
            "addr add 198.51.100.2/24 dev virt7", "route add default via 198.51.100.1 metric 9",
        ])
        #expect(wait.command.wait() == 0)
    }

    @Test func `without a daemon it times out with 3 and names the socket`() async throws {
        let tool = Tool(scratch: try Scratch())
        let result = try await tool.run("wait", "--timeout", "80ms")
        #expect(result.status == 3)
        #expect(result.messages.contains("the service cannot be reached; tried unix:\(tool.scratch.path)"))
        #expect(result.messages.contains("still waiting for: connected (the service is not running)"))
        let mute = try CannedServer(tool.scratch, answer: nil)
        #expect(try await tool.run("wait", "--timeout", "80ms", "--socket", mute.path).status == 3)
    }

    @Test func `a refusal ends it with 5`() async throws {
        let tool = Tool(scratch: try Scratch())
        let server = try CannedServer(tool.scratch, answer: CannedServer.problem("403 Forbidden", "no"))
        #expect(try await tool.run("wait", "--socket", server.path).status == 5)
    }

    @Test func `one of several is enough with --any`() async throws {
        let service = try Service()
        try service.connect()
        try await service.start()
        #expect(try await service.ask("wait", "ipv6", "ipv4", "--any").status == 0)
        #expect(try await service.ask("wait", "ipv6", "ipv4", "--timeout", "1s").status == 3)
        #expect(try await service.ask("wait", "not-expensive", "interface=eth0").status == 0)
        #expect(try await service.ask("wait", "unsatisfied", "ipv6", "--any", "--timeout", "1s").status == 3)
    }

    @Test func `wants the condition to hold`() async throws {
        let service = try Service()
        try service.connect()
        try await service.start()
        let short = try await service.ask("wait", "--for", "1h", "--timeout", "3s")
        #expect(short.status == 3)
        #expect(short.messages == "nwpath: the condition did not hold long enough\n")
        #expect(try await service.ask("wait", "--for", "60ms", "--timeout", "60s").status == 0)
    }

    @Test func `without a condition the headline is what counts`() async throws {
        let service = try Service()
        try service.connect()
        let probe = "{target: 198.51.100.7, interval: 1s, timeout: 200ms, threshold: 1}"
        try service.scratch.write("probes:\n  active:\n    far: \(probe)\n", to: "nwpath.yaml")
        try await service.start()
        try await service.settle("path")
        var word = ""
        try await loop.eventually("what the probe finds") {
            let status = try Command.run([try Tool.program, "status", "--socket", service.socket])
            word = status.split { ",\n".contains($0) }.first.map(String.init) ?? ""
            // First nothing beyond answers, then the kernel finds that the router does not either.
            return word == "✗ Local only"
        }
        let missing = try await service.ask("wait", "--timeout", "300ms")
        #expect(missing.status == 3)
        let start = "nwpath: still waiting for: connected (\(word.dropFirst(2)): "
        #expect(missing.messages.hasPrefix(start), "\(missing)")
        #expect(try await service.ask("wait", "path", "--timeout", "60s").status == 0)
        #expect(try await service.ask("status", "--exit-code").status == 1)
        #expect(try await service.ask("status", "--exit-code", "--monitor", "default").status == 0)
        let watch = try service.tool.launch("watch", "--socket", service.socket)
        await loop.eventually("the state") { watch.lines.count == 1 }
        #expect(watch.output.hasPrefix("\(word): "), "\(watch.output)")
        let check = try await service.ask("check")
        #expect(check.status == 2 && check.output.hasPrefix("NWPATH CRITICAL - \(word.dropFirst(2)): "), "\(check)")
        #expect(check.output.contains(", path default satisfied via eth0 for "), "\(check)")
    }

    @Test func `sees the path go as well as come`() async throws {
        let service = try Service()
        try service.connect()
        try await service.start()
        let wait = try service.tool.launch("wait", "unsatisfied", "--json", "--socket", service.socket)
        try Namespace.current.ip("route del default")
        await loop.eventually("the loss") { wait.lines.count == 1 }
        #expect(wait.command.wait() == 0)
    }
}
