// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

@testable import nwpath

/// A printer on the other end of a link, which says again and again that it is there.
private final class Printer {
    private static let script = """
        import socket, sys, time
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("192.0.2.2"))
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 255)
        s.bind(("192.0.2.2", 5353))
        while True:
            s.sendto(bytes.fromhex(sys.argv[1]), ("224.0.0.251", 5353))
            time.sleep(0.1)
        """
    private let peer: Namespace
    private var sender: RunningCommand?

    /// Makes the link; this end is `eth0`.
    init() throws {
        peer = try Namespace()
        try Namespace.current.connect("eth0", to: peer, as: "eth0")
        try Namespace.current.ip("addr add 192.0.2.1/24 dev eth0")
        try peer.ip("addr add 192.0.2.2/24 dev eth0")
    }

    /// Says that it is there, or with no lifetime that it goes.
    func say(timeToLive: UInt32 = 120) throws {
        let bytes = try #require(try Self.message(timeToLive).encoded())
        let hexadecimal = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        sender = try RunningCommand(["nsenter", "--net=\(peer.path)", "python3", "-c", Self.script, hexadecimal])
    }

    private static func message(_ timeToLive: UInt32) throws -> Message {
        let type = try DomainName(labels: ["_ipp", "_tcp", "local"].map { Array($0.utf8) })
        let instance = try DomainName(labels: ["Office Printer", "_ipp", "_tcp", "local"].map { Array($0.utf8) })
        let host = try DomainName(labels: ["printer", "local"].map { Array($0.utf8) })
        let address = try #require(IPAddress("192.0.2.2"))
        let text = Array("\u{C}rp=ipp/print".utf8)
        return Message(
            flags: [.response, .authoritative],
            answers: [
                .init(type, .ptr, .pointer(instance), timeToLive: timeToLive),
                .init(
                    instance,
                    .srv,
                    .service(.init(port: 631, target: host)),
                    timeToLive: timeToLive,
                    flushesCache: true
                ),
                .init(instance, .txt, .text(text), timeToLive: timeToLive, flushesCache: true),
                .init(host, .a, .address(address), timeToLive: timeToLive, flushesCache: true),
            ]
        )
    }
}

@Suite(.inNamespace) struct ServicesCommandTests {
    private var loop: EventLoop { Namespace.current.loop }

    @Test func `finds a service itself, without a daemon`() async throws {
        let printer = try Printer()
        try printer.say()
        let tool = Tool(scratch: try Scratch())
        let text = try await tool.run("services", "--direct", "-v")
        #expect(text.status == 0)
        #expect(text.output.contains("_ipp._tcp  Office Printer"))
        #expect(text.output.contains("eth0       printer.local   631  192.0.2.2"))
        #expect(text.output.contains("192.0.2.2  Printer\n  rp=ipp/print  (queue)\n"))
        let types = try await tool.run("services", "--direct", "--types")
        #expect(types.output == "_ipp._tcp  Printer\n")
        let json = try await tool.run("services", "--direct", "--types", "--json").json
        #expect(json["seq"] == nil && json["host"]?.string != nil && json["types"]?.array?.count == 1)
        #expect(text.messages == "")
        let none = try await tool.run("services", "_ssh._tcp", "--direct", "--timeout", "300ms")
        #expect(none.status == 3)
        #expect(none.messages.hasPrefix("nwpath: stopped before the census was complete; there may be more\n"))
    }

    @Test func `a whole census without an answer finds nothing, with 1`() async throws {
        let printer = try Printer()
        let tool = Tool(scratch: try Scratch())
        let json = try await tool.run("services", "--direct", "--json")
        #expect(json.status == 1)
        #expect(try json.json["services"]?.array == [])
        #expect(json.messages == "")
        let nowhere = try await tool.run("services", "--direct", "--interface", "eth7")
        #expect(nowhere.status == 1)
        #expect(nowhere.messages.hasPrefix("nwpath: no interface to use: eth7 "))
        _ = printer
    }

    @Test func `watches the network itself`() async throws {
        let printer = try Printer()
        let tool = Tool(scratch: try Scratch())
        let watch = try tool.launch("services", "--direct", "--watch", "--json")
        let named = try tool.launch("services", "--direct", "--watch", "--name", "Off*")
        let others = try tool.launch("services", "--direct", "--watch", "--json", "--name", "Nobody*")
        try printer.say()
        await loop.eventually("the service") { watch.output.contains("service.added") }
        await loop.eventually("the line of text") { named.output.contains("+ service.added      Office Printer") }
        try printer.say(timeToLive: 0)
        await loop.eventually("the goodbye") { watch.output.contains("service.removed") }
        let objects = try watch.objects
        #expect(objects.allSatisfy { $0["service"]?["name"]?.string == "Office Printer" })
        #expect(objects.first?.object?.keys.prefix(5) == ["schema", "time", "event", "severity", "message"])
        #expect(others.output.isEmpty)
        let quit = try await tool.run("services", "--direct", "--watch", "--timeout", "50ms")
        #expect(quit.status == 0)
    }

    @Test func `lists and follows what the daemon finds`() async throws {
        let printer = try Printer()
        let service = try Service()
        try await service.start("--debounce=1ms")
        let watch = try service.tool.launch("services", "--watch", "--socket", service.socket, "--name", "Off*")
        let types = try service.tool.launch("services", "--types", "--watch", "--json", "--socket", service.socket)
        await loop.eventually("the list of types") { types.lines.count == 1 }
        try printer.say()
        #expect(try await service.ask("wait", "service=_ipp._tcp/Office Printer", "--timeout", "60s").status == 0)
        await loop.eventually("the event") { watch.output.contains("+ service.added      Office Printer") }
        await loop.eventually("the type") { types.output.contains("service_type.added") }
        let list = try await service.ask("services", "_ipp._tcp", "--interface", "eth0", "--name", "*Printer")
        #expect(list.status == 0)
        #expect(list.output.contains("Office Printer"))
        #expect(try await service.ask("services", "--types").output == "_ipp._tcp  Printer\n")
        #expect(
            try await service.ask("services", "--types", "--json").json["type_names"]?["_ipp._tcp"]?.string == "Printer"
        )
        #expect(try await service.ask("services", "--name", "office*", "--json").status == 1)
        #expect(try await service.ask("services", "_ssh._tcp").messages == "nwpath: no services were found\n")
        let one = try await service.ask("services", "--once", "--timeout", "60s")
        #expect(one.status == 0)
        #expect(try await service.ask("status").output.contains("1 service of 1 type, last census "))
    }

    @Test func `without a census --once says so`() async throws {
        let service = try Service()
        try service.connect()
        try await service.start()
        let result = try await service.ask("services", "--once")
        #expect(result.status == 1)
        #expect(result.messages == "nwpath: service discovery is off (mdns.enabled); try --direct\n")
        #expect(try await service.ask("services", "--types").status == 1)
    }
}
