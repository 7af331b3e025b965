// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Dispatch
import DNSWire
import Foundation
import Glibc
import LinuxIO
@testable import Network
import TestSupport
import Testing

/// Connections between two namespaces: cables that come and go, names, and services.
@Suite(.inNamespace) struct ConnectionNetworkTests {
    private let here = Namespace.current
    private let loop = Namespace.current.loop
    private let peer: Namespace

    init() throws {
        peer = try Namespace()
        try cable(1)
    }

    private func cable(_ number: Int, metric: Int? = nil) throws {
        try here.connect("a\(number)", to: peer, as: "b\(number)")
        try here.ip("addr add 10.78.\(number).1/24 dev a\(number)")
        try peer.ip("addr add 10.78.\(number).2/24 dev b\(number)")
    }

    private func eventually(_ what: String, _ condition: () -> Bool) async { await loop.eventually(what, condition) }

    private func connected(_ parameters: NWParameters = .tcp) async throws -> (Watched, WatchedListener) {
        let listener = try WatchedListener(parameters)
        let port = await listener.start(in: peer)
        let client = Watched(to: "10.78.1.2", port, parameters).start()
        await eventually("ready") { client.state == .ready }
        return (client, listener)
    }

    @Test func `a cable that is out makes a connection not viable, until it is back`() async throws {
        let (client, listener) = try await connected()
        #expect(client.connection.currentPath?.availableInterfaces.first?.name == "a1")
        try peer.set("b1", isUp: false)
        await eventually("not viable") { client.viability.values == [true, false] }
        #expect(client.state == .ready && client.connection.currentPath?.status == .unsatisfied)
        client.send("hello")
        try peer.set("b1", isUp: true)
        await eventually("viable") { client.viability.values == [true, false, true] }
        let server = try #require(listener.accepted.values.first)
        server.receive()
        await eventually("hello") { server.received.values == [Receipt("hello")] }
        #expect(client.connection.currentPath?.status == .satisfied)
    }

    @Test func `an address that is gone makes a connection not viable`() async throws {
        let (client, _) = try await connected(.udp)
        try here.ip("addr del 10.78.1.1/24 dev a1")
        await eventually("not viable") { client.viability.values == [true, false] }
        #expect(client.state == .ready && client.betterPath.values.isEmpty)
    }

    @Test func `a cable that is preferred is a better path`() async throws {
        try peer.ip("addr add 203.0.113.1/32 dev lo")
        try here.ip("route add default via 10.78.1.2 dev a1 metric 600")
        let listener = try WatchedListener()
        let port = await listener.start(in: peer)
        let client = Watched(to: "203.0.113.1", port).start()
        await eventually("ready") { client.state == .ready }
        try cable(2)
        try here.ip("route add default via 10.78.2.2 dev a2 metric 100")
        await eventually("better") { client.betterPath.values == [true] }
        #expect(client.state == .ready)
        try here.ip("route del default via 10.78.2.2 dev a2 metric 100")
        await eventually("no better") { client.betterPath.values == [true, false] }
    }

    @Test func `no route is waiting, and the route that comes makes it ready`() async throws {
        try peer.ip("addr add 203.0.113.1/32 dev lo")
        let listener = try WatchedListener()
        let port = await listener.start(in: peer)
        let client = Watched(to: "203.0.113.1", port).start()
        await eventually("waiting") { client.state == .waiting(.posix(.ENETUNREACH)) }
        try here.ip("route add default via 10.78.1.2")
        await eventually("ready") { client.state == .ready }
        withExtendedLifetime(listener) {}
    }

    @Test func `a peer that vanishes is given up after the drop time`() async throws {
        let parameters = NWParameters.tcp
        (parameters.defaultProtocolStack.transportProtocol as? NWProtocolTCP.Options)?.connectionDropTime = 1
        let (client, listener) = try await connected(parameters)
        try here.run("nft add table ip t")
        try here.run("nft add chain ip t out { type filter hook output priority 0 ; policy drop ; }")
        client.receive()
        client.send("hello")
        await eventually("failed") { client.state == .failed(.posix(.ETIMEDOUT)) }
        await eventually("told") { client.received.values == [.failed(.posix(.ETIMEDOUT))] }
        withExtendedLifetime(listener) {}
    }

    @Test func `a host that does not answer is waiting after the time for connecting`() async throws {
        try here.ip("neigh add 10.78.1.9 lladdr 02:00:00:00:00:09 dev a1")
        let parameters = NWParameters.tcp
        (parameters.defaultProtocolStack.transportProtocol as? NWProtocolTCP.Options)?.connectionTimeout = 1
        let client = Watched(to: "10.78.1.9", 80, parameters).start()
        await eventually("waiting") { client.state == .waiting(.posix(.ETIMEDOUT)) }
        client.connection.cancelCurrentEndpoint()
        client.connection.cancel()
        await eventually("cancelled") { client.state == .cancelled }
    }

    @Test(arguments: ["nobody.invalid", "nobody-here.local"]) func `a name that never resolves is waiting`(
        name: String
    ) async throws {
        let parameters = NWParameters.tcp
        (parameters.defaultProtocolStack.transportProtocol as? NWProtocolTCP.Options)?.connectionTimeout = 1
        let client = Watched(to: name, 80, parameters).start()
        await eventually("waiting, but \(client.state)") {
            if case .waiting(.dns) = client.state { true } else { false }
        }
        client.connection.cancel()
        await eventually("cancelled") { client.states.values.last == .cancelled }
    }

    @Test(arguments: ["git.local", "git.box.local"])
    func `another name of a host on the link leads to it`(name: String) async throws {
        let listener = try WatchedListener(.tcp)
        let port = await listener.start(in: peer)
        let (alias, host) = (try #require(DomainName(name)), try #require(DomainName("box.local")))
        let records = [
            ResourceRecord(alias, .cname, .alias(host), timeToLive: 120, flushesCache: true),
            ResourceRecord(host, .a, .address(.v4(0x0A4E_0102)), timeToLive: 120, flushesCache: true),
        ]
        let bytes = try #require(Message(flags: [.response, .authoritative], answers: records).encoded())
        let client = Watched(to: name, port).start()
        await eventually("ready, not \(client.state)") {
            peer.loop.perform {
                guard let socket = try? MulticastSocket(.ipv4, interface: Int(unsafe if_nametoindex("b1"))) else {
                    return
                }
                try? socket.send(bytes.span)
            }
            return client.state == .ready
        }
        client.connection.cancel()
    }

    @Test func `limits on interfaces are kept`() async throws {
        try cable(2)
        let listener = try WatchedListener()
        let port = await listener.start(in: peer)
        let all = NWParameters.tcp
        all.prohibitedInterfaceTypes = [.wiredEthernet]
        let none = Watched(to: "10.78.1.2", port, all).start()
        await eventually("no interface") { none.state == .waiting(.posix(.ENETDOWN)) }
        let one = NWParameters.tcp
        one.requiredInterfaceType = .wiredEthernet
        let wired = Watched(to: "10.78.1.2", port, one).start()
        await eventually("by cable") { wired.state == .ready }
        let bound = NWParameters.tcp
        bound.requiredInterface = NWInterface(named: "a2")
        (bound.defaultProtocolStack.transportProtocol as? NWProtocolTCP.Options)?.connectionTimeout = 1
        try here.ip("neigh add 10.78.1.2 lladdr 02:00:00:00:00:09 dev a2")
        let wrong = Watched(to: "10.78.1.2", port, bound).start()
        await eventually("bound") { if case .waiting = wrong.state { true } else { false } }
        wrong.connection.cancel()
    }

    @Test func `a listener may be for hosts on its links only`() async throws {
        try peer.ip("addr add 203.0.113.1/32 dev lo")
        try here.ip("route add 203.0.113.0/24 via 10.78.1.2")
        let parameters = NWParameters.tcp
        parameters.acceptLocalOnly = true
        let listener = try WatchedListener(parameters)
        let port = await listener.start()
        let near = Watched(to: "10.78.1.1", port).start(in: peer)
        await eventually("near") { near.state == .ready && listener.accepted.values.count == 1 }
        let away = NWParameters.tcp
        away.requiredLocalEndpoint = .hostPort(host: "203.0.113.1", port: .any)
        let far = Watched(to: "10.78.1.1", port, away)
        far.receive()
        far.start(in: peer)
        await eventually("far") { !far.received.values.isEmpty }
        #expect(far.received.values.first?.error == .posix(.ECONNRESET) && listener.accepted.values.count == 1)
    }

    // MARK: - Services

    @Test(arguments: [true, false]) func `a service that is browsed is connected to`(isUDP: Bool) async throws {
        let parameters: NWParameters = isUDP ? .udp : .tcp
        let type = isUDP ? "_demo._udp" : "_demo._tcp"
        let listener = WatchedListener(try NWListener(service: .init(name: "Lamp", type: type), using: parameters))
        _ = await listener.start(in: peer)
        let endpoint = NWEndpoint.service(name: "Lamp", type: type, domain: "local.", interface: nil)
        await eventually("advertised") { listener.changes.values == [.add(endpoint)] }
        let found = Record<NWEndpoint>()
        let browser = NWBrowser(for: .bonjour(type: type, domain: nil), using: parameters)
        browser.browseResultsChangedHandler = { results, _ in for result in results { found.append(result.endpoint) } }
        browser.start(queue: .apart)
        await eventually("found") { !found.values.isEmpty }
        let client = Watched(NWConnection(to: try #require(found.values.first), using: parameters)).start()
        client.send("hello")
        await eventually("ready") { client.state == .ready && !listener.accepted.values.isEmpty }
        let server = try #require(listener.accepted.values.first)
        server.receive()
        await eventually("hello") { server.received.values.first?.text == "hello" }
        #expect(client.connection.endpoint == endpoint)
        listener.listener.service = nil
        await eventually("withdrawn") { listener.changes.values == [.add(endpoint), .remove(endpoint)] }
    }

    @Test func `a service that is not there is waited for`() async throws {
        let parameters = NWParameters.tcp
        (parameters.defaultProtocolStack.transportProtocol as? NWProtocolTCP.Options)?.connectionTimeout = 1
        let endpoint = NWEndpoint.service(name: "Lamp", type: "_demo._tcp", domain: "local", interface: nil)
        let client = Watched(NWConnection(to: endpoint, using: parameters)).start()
        await eventually("waiting") { client.state == .waiting(.dns(kDNSServiceErr_NoSuchRecord)) }
        let listener = WatchedListener(try NWListener(service: .init(name: "Lamp", type: "_demo._tcp"), using: .tcp))
        _ = await listener.start(in: peer)
        await eventually("ready") { client.state == .ready }
        let bad = NWEndpoint.service(name: "Lamp", type: "nonsense", domain: "local", interface: nil)
        let wrong = Watched(NWConnection(to: bad, using: .tcp)).start()
        await eventually("bad") { wrong.state == .waiting(.dns(kDNSServiceErr_BadParam)) }
    }

    @Test func `a service takes another name when its own is taken, and another text when it is set`() async throws {
        let first = WatchedListener(try NWListener(service: .init(name: "Lamp", type: "_demo._tcp"), using: .tcp))
        _ = await first.start()
        await eventually("advertised") { first.changes.values.count == 1 }
        let service = NWListener.Service(name: "Lamp", type: "_demo._tcp", txtRecord: NWTXTRecord(["v": "1"]))
        let second = WatchedListener(try NWListener(service: service, using: .tcp))
        _ = await second.start(in: peer)
        let renamed = NWEndpoint.service(name: "Lamp (2)", type: "_demo._tcp", domain: "local.", interface: nil)
        await eventually("renamed") { second.changes.values.last == .add(renamed) }
        let texts = Record<String>()
        let browser = NWBrowser(for: .bonjourWithTXTRecord(type: "_demo._tcp", domain: nil), using: .tcp)
        browser.browseResultsChangedHandler = { results, _ in
            for result in results {
                guard case .bonjour(let record) = result.metadata, let version = record["v"] else { continue }
                texts.append(version)
            }
        }
        browser.start(queue: .apart)
        await eventually("the text") { texts.values.last == "1" }
        var changed = service
        changed.txtRecordObject = NWTXTRecord(["v": "2"])
        second.listener.service = changed
        await eventually("the other text") { texts.values.last == "2" }
        var fixed = NWListener.Service(name: "Lamp", type: "_demo._tcp")
        fixed.noAutoRename = true
        let third = WatchedListener(try NWListener(service: fixed, using: .tcp))
        _ = await third.start(in: peer)
        await eventually("taken") { third.states.values.last == .failed(.dns(kDNSServiceErr_NameConflict)) }
        let bad = WatchedListener(try NWListener(service: .init(type: "nonsense"), using: .tcp))
        _ = await bad.start()
        await eventually("bad") { bad.states.values.last == .failed(.dns(kDNSServiceErr_BadParam)) }
    }
}
