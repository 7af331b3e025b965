// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import LinuxIO
@testable import Network
import TestSupport
import Testing

/// Browsers, listeners and connections to services with a real avahi-daemon or python-zeroconf at the other end.
@Suite(.inNamespace) struct BonjourPeerTests {
    private let here = Namespace.current
    private let loop = Namespace.current.loop
    private let peer: Namespace

    init() throws {
        peer = try Namespace()
        try here.connect("a1", to: peer, as: "b1")
        try here.ip("addr add 10.79.1.1/24 dev a1")
        try peer.ip("addr add 10.79.1.2/24 dev b1")
        try here.waitForAddresses(on: "a1", isLinkLocal: true)
        try peer.waitForAddresses(on: "b1", isLinkLocal: true)
    }

    private func eventually(_ what: String, _ condition: () -> Bool) async { await loop.eventually(what, condition) }

    /// Browses with texts, in the namespace of the test.
    private func browse(_ type: String) -> (browser: NWBrowser, results: Record<Set<NWBrowser.Result>>) {
        let results = Record<Set<NWBrowser.Result>>()
        let browser = NWBrowser(for: .bonjourWithTXTRecord(type: type, domain: nil), using: .tcp)
        browser.browseResultsChangedHandler = { all, _ in results.append(all) }
        browser.start(queue: DispatchQueue(label: "browser"))
        return (browser, results)
    }

    private func avahi() async throws -> AvahiPeer {
        try await AvahiPeer(in: peer, hostName: "avahi-host", interface: "b1")
    }

    private func zeroconf(_ name: String, port: Int) throws -> RunningCommand {
        let words = try peer.ip("-6 -o address show dev b1 scope link").split(whereSeparator: \.isWhitespace)
        let address = words.first { $0.hasPrefix("fe80") }?.split(separator: "/").first ?? ""
        return try ZeroconfPeer.announce(
            name,
            "_demo._tcp",
            port,
            in: peer,
            addresses: ("10.79.1.2", String(address))
        )
    }

    /// A server in the other namespace that says everything back.
    private func echo(_ port: NWEndpoint.Port) throws -> RunningCommand {
        try PythonPeer.start(
            """
            server = socket.create_server(("", $PORT))
            while True:
                client, _ = server.accept()
                client.sendall(client.recv(100))
            """,
            port: port,
            in: peer
        )
    }

    /// Connects to a service whose server says everything back, and expects that.
    private func talk(to endpoint: NWEndpoint) async {
        let client = Watched(NWConnection(to: endpoint, using: .tcp)).start()
        await eventually("ready, but \(client.state)") {
            if case .waiting = client.state { client.connection.restart() }
            return client.state == .ready
        }
        client.send("hello")
        client.receive()
        await eventually("its echo") { client.received.values == [Receipt("hello")] }
    }

    private func endpoint(_ name: String) -> NWEndpoint {
        .service(name: name, type: "_demo._tcp", domain: "local.", interface: nil)
    }

    @Test func `a browser finds and loses what avahi-daemon announces, and a connection goes there`() async throws {
        let avahi = try await avahi()
        let name = "Büro: Dr. No's"
        let publisher = try avahi.publish(name, "_demo._tcp", 7007, ["path=/1", "note", "empty="])
        let server = try echo(7007)
        let (browser, results) = browse("_demo._tcp")
        await eventually("found") { results.values.last?.count == 1 }
        let found = try #require(results.values.last?.first)
        guard case .service(let told, "_demo._tcp", "local.", nil) = found.endpoint else {
            Issue.record("\(found.endpoint)")
            return
        }
        #expect(told == name && found.interfaces.map(\.name) == ["a1"])
        guard case .bonjour(let record) = found.metadata else {
            Issue.record("\(found.metadata)")
            return
        }
        #expect(record["path"] == "/1" && record.getEntry(for: "note") == NWTXTRecord.Entry.none)
        #expect(record.getEntry(for: "empty") == .empty)

        await talk(to: found.endpoint)

        publisher.signal(SIGTERM)
        await eventually("the goodbye") { results.values.last?.isEmpty == true }
        withExtendedLifetime((browser, server, avahi)) {}
    }

    @Test(arguments: ["_androidtvremote2._tcp", "_nvstream_dbd._tcp", "_apple-mobdev2._tcp", "_8886._tcp"])
    func `a browser finds types that nobody may register, and a connection goes there`(type: String) async throws {
        let avahi = try await avahi()
        let publisher = try avahi.publish("TV", type, 7009, [])
        let server = try echo(7009)
        let (browser, results) = browse(type)
        let endpoint = NWEndpoint.service(name: "TV", type: type, domain: "local.", interface: nil)
        await eventually("found") { results.values.last?.map(\.endpoint) == [endpoint] }
        await talk(to: endpoint)
        let (types, names) = browse("_services._dns-sd._udp")
        let listed = NWEndpoint.service(
            name: String(type.prefix { $0 != "." }),
            type: "_tcp.local.",
            domain: ".",
            interface: nil
        )
        await eventually("the type") { names.values.last?.map(\.endpoint) == [listed] }
        #expect(types.state == .ready)
        publisher.signal(SIGTERM)
        await eventually("the goodbye") { results.values.last?.isEmpty == true }
        withExtendedLifetime((browser, types, server, avahi)) {}
    }

    @Test func `a browser follows python-zeroconf, and a connection goes there`() async throws {
        let publisher = try zeroconf("Wohn.zimmer", port: 7008)
        let server = try echo(7008)
        let (browser, results) = browse("_demo._tcp")
        func text() -> NWTXTRecord? {
            guard case .bonjour(let record)? = results.values.last?.first?.metadata else { return nil }
            return record
        }
        await eventually("found") { text()?["version"] == "1" }
        #expect(text()?.getEntry(for: "flag") == NWTXTRecord.Entry.none)
        publisher.signal(SIGUSR1)
        await eventually("the new text, but \(results.values)") { text()?["version"] == "2" }
        await talk(to: endpoint("Wohn.zimmer"))
        publisher.signal(SIGTERM)
        await eventually("the goodbye") { results.values.last?.isEmpty == true }
        withExtendedLifetime((browser, server)) {}
    }

    @Test func `avahi-browse finds a listener, reads its texts, and sees it go`() async throws {
        let avahi = try await avahi()
        let client = try avahi.client("avahi-browse", "-rp", "_demo._tcp")
        let service = NWListener.Service(name: "Lamp", type: "_demo._tcp", txtRecord: NWTXTRecord(["v": "1"]))
        let listener = WatchedListener(try NWListener(service: service, using: .tcp))
        let port = await listener.start()
        func line(_ text: String) -> Bool {
            client.lines.contains {
                $0.hasPrefix("=;b1;IPv4;Lamp;_demo._tcp;local;") && $0.hasSuffix(";10.79.1.1;\(port.rawValue);\(text)")
            }
        }
        await eventually("resolved") { line("\"v=1\"") }
        await eventually("told") { listener.changes.values == [.add(endpoint("Lamp"))] }
        var changed = service
        changed.txtRecordObject = NWTXTRecord(["v": "2"])
        listener.listener.service = changed
        // avahi-browse tells texts when it resolves; a client that is started anew reads the last one.
        await eventually("the new text") {
            (try? Command.run(avahi.inside + ["avahi-browse", "-rpt", "_demo._tcp"]))?.split(separator: "\n").contains {
                $0.hasSuffix(";\(port.rawValue);\"v=2\"")
            } == true
        }
        listener.listener.cancel()
        await eventually("the goodbye") { client.lines.contains { $0.hasPrefix("-;b1;IPv4;Lamp;") } }
    }

    @Test func `python-zeroconf finds a listener, reads its texts, and sees it go`() async throws {
        let seen = try ZeroconfPeer.browse("_demo._tcp", in: peer)
        let service = NWListener.Service(name: "Lamp", type: "_demo._tcp", txtRecord: NWTXTRecord(["v": "1"]))
        let listener = WatchedListener(try NWListener(service: service, using: .tcp))
        let port = await listener.start()
        let name = "Lamp._demo._tcp.local."
        await eventually("resolved, but \(seen.lines)") {
            seen.lines.contains {
                $0.hasPrefix("added \(name) ") && $0.contains(" \(port.rawValue) 10.79.1.1 ") && $0.hasSuffix(" v=1")
            }
        }
        var changed = service
        changed.txtRecordObject = NWTXTRecord(["v": "2"])
        listener.listener.service = changed
        await eventually("the new text") {
            seen.lines.contains { $0.hasPrefix("updated \(name) ") && $0.hasSuffix(" v=2") }
        }
        listener.listener.cancel()
        await eventually("the goodbye") { seen.lines.contains("removed \(name)") }
    }

    @Test(arguments: [true, false])
    func `a listener whose name a peer has takes another one, unless it must not`(isAvahi: Bool) async throws {
        let avahi = isAvahi ? try await avahi() : nil
        let publisher = try avahi?.publish("Lamp", "_demo._tcp", 99, []) ?? zeroconf("Lamp", port: 99)
        let (browser, results) = browse("_demo._tcp")
        await eventually("the peer's service") { results.values.last?.count == 1 }
        let listener = WatchedListener(try NWListener(service: .init(name: "Lamp", type: "_demo._tcp"), using: .tcp))
        _ = await listener.start()
        await eventually("another name") { listener.changes.values == [.add(endpoint("Lamp (2)"))] }
        var fixed = NWListener.Service(name: "Lamp", type: "_demo._tcp")
        fixed.noAutoRename = true
        let stubborn = WatchedListener(try NWListener(service: fixed, using: .tcp))
        _ = await stubborn.start()
        await eventually("refused") { stubborn.states.values.last == .failed(.dns(kDNSServiceErr_NameConflict)) }
        publisher.signal(SIGTERM)
        withExtendedLifetime((browser, avahi)) {}
    }
}
