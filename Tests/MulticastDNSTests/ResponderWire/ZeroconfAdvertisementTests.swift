// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Glibc
import LinuxIO
import MulticastDNS
import TestSupport
import Testing

/// python-zeroconf in a namespace, browsing one type and printing what it sees.
private enum ZeroconfBrowser {
    private static let script = """
        import sys, time
        from zeroconf import IPVersion, NonUniqueNameException, ServiceBrowser, ServiceInfo, Zeroconf
        kind, taken = sys.argv[1] + ".local.", sys.argv[2]
        zeroconf = Zeroconf(ip_version=IPVersion.All)
        def say(*words): print(*words, flush=True)
        class Listener:
            def show(self, what, name):
                info = zeroconf.get_service_info(kind, name, 10000)
                if info is None: return say("unresolved", name)
                addresses = sorted(info.parsed_addresses())
                text = sorted(k.decode() + "=" + (v or b"-").decode() for k, v in info.properties.items())
                say(what, name, info.server, info.port, *addresses, *text)
                if taken and name.startswith(taken):
                    rival = ServiceInfo(kind, taken + "." + kind, port=99, server="rival.local.", addresses=[bytes(4)])
                    try: zeroconf.register_service(rival); say("registered")
                    except NonUniqueNameException: say("refused")
            def add_service(self, zc, kind, name): self.show("added", name)
            def update_service(self, zc, kind, name): self.show("updated", name)
            def remove_service(self, zc, kind, name): say("removed", name)
        browser = ServiceBrowser(zeroconf, kind, Listener())
        while True: time.sleep(1)
        """

    static func start(_ type: String, rival: String = "", in namespace: Namespace) throws -> Output {
        try Output(["nsenter", "--net=\(namespace.path)", ".build/venv/bin/python3", "-c", script, type, rival])
    }
}

/// A program whose output is looked at while it runs.
private final class Output {
    private let scratch: Scratch
    private let process: RunningCommand

    init(_ words: [String]) throws {
        scratch = try Scratch()
        process = try RunningCommand(["sh", "-c", "exec \"$@\" > \(scratch.path)/out 2>&1", "sh"] + words)
    }

    deinit { process.signal(SIGTERM) }

    var lines: [Substring] {
        (try? Command.run(["cat", "\(scratch.path)/out"]))?.split(separator: "\n") ?? []
    }
}

@Suite(.inNamespace) struct ZeroconfAdvertisementTests {
    @Test func `python-zeroconf finds, resolves, follows and loses what we advertise`() async throws {
        let bench = try AdvertisingBench()
        let output = try ZeroconfBrowser.start("_test._tcp", in: bench.peer)
        bench.engine.start()
        let id = try bench.advertise("Wohn.zimmer") { $0.text = [.init(key: "v", value: [0x31])] }
        let v6 = try bench.address(.ipv6)
        let name = "Wohn.zimmer._test._tcp.local."
        await bench.loop.eventually("resolved") {
            output.lines.contains {
                $0.hasPrefix("added \(name) lamp.local. 80 192.0.2.1 \(v6)") && $0.hasSuffix("v=1")
            }
        }
        // What comes within a second counts as one burst.
        let end = KernelClock().boot + .seconds(5)
        await bench.loop.eventually("the end of the announcements") { KernelClock().boot > end }
        try bench.engine.update(text: [.init(key: "v", value: [0x32])], of: id)
        await bench.loop.eventually("the new text") {
            output.lines.contains { $0.hasPrefix("updated \(name)") && $0.hasSuffix("v=2") }
        }
        bench.engine.withdraw(id)
        await bench.loop.eventually("lost") { output.lines.contains("removed \(name)") }
    }

    @Test func `a name that python-zeroconf has makes us take another one`() async throws {
        let bench = try AdvertisingBench()
        let process = try ZeroconfPeer.announce("Lamp", "_test._tcp", 8080, in: bench.peer)
        // The tap is on zeroconf's own host, so it asks by way of a browse from ours.
        var found: Set<String> = []
        let type = try #require(DomainName("_test._tcp.local"))
        bench.engine.start()
        let browse = ServiceBrowse(bench.engine, types: [type]) { event in
            if case .found(let instance) = event { found.insert(instance.name) }
        }
        await bench.loop.eventually("zeroconf's service") { found.contains("Lamp") }
        try bench.advertise()
        await bench.loop.eventually("registered") { bench.isRegistered }
        #expect(bench.renames == ["Lamp (2)._test._tcp.local"])
        withExtendedLifetime(browse) { process.signal(SIGTERM) }
    }

    @Test func `python-zeroconf is refused a name that we have`() async throws {
        let bench = try AdvertisingBench()
        let output = try ZeroconfBrowser.start("_test._tcp", rival: "Lamp", in: bench.peer)
        _ = try await bench.advertiseAndSettle()
        await bench.loop.eventually("a refusal") {
            output.lines.contains("refused") || output.lines.contains("registered")
        }
        #expect(output.lines.contains("refused") && bench.renames.isEmpty)
    }
}
