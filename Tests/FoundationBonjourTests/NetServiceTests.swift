// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
@testable import FoundationBonjour
import LinuxIO
import TestSupport
import Testing

/// Services and searches of two hosts at the ends of a cable.
@Suite(.inNamespace) struct NetServiceTests {
    private let loop = Namespace.current.loop
    private let here: Host
    private let there: Host
    private let peer: Namespace

    init() async throws {
        let namespace = Namespace.current
        peer = try Namespace()
        try namespace.connect("a1", to: peer, as: "b1")
        try namespace.ip("addr add 10.88.0.1/24 dev a1")
        try peer.ip("addr add 10.88.0.2/24 dev b1")
        here = await Host(in: namespace)
        there = await Host(in: peer)
    }

    private func expect(_ host: Host, _ line: String) async {
        await loop.eventually("\(line), after \(host.log.lines)") { host.log.contains(line) }
    }

    private func end() {
        here.end()
        there.end()
    }

    /// Publishes a service on a host.
    private func publish(
        _ name: String,
        type: String = "_demo._tcp.",
        port: Int32 = 8080,
        path: String? = nil,
        options: NetService.Options = [],
        on host: Host
    ) {
        host.perform { host in
            let service = NetService(domain: "local.", type: type, name: name, port: port)
            let witness = Witness(host.log)
            service.delegate = witness
            if let path { service.setTXTRecord(NetService.data(fromTXTRecord: ["path": Data(path.utf8)])) }
            host.keep(service, as: name)
            host.keep(witness, as: "witness \(name)")
            service.publish(options: options)
        }
    }

    /// Searches for a type on a host.
    private func search(
        _ type: String,
        on host: Host,
        prefix: String = "",
        onFind: (@Sendable (NetService) -> Void)? = nil
    ) {
        host.perform { host in
            let browser = NetServiceBrowser()
            let witness = Witness(host.log, prefix: prefix)
            witness.onFind = onFind
            browser.delegate = witness
            host.keep(browser, as: type)
            host.keep(witness, as: "witness \(type)")
            browser.searchForServices(ofType: type, inDomain: "local.")
        }
    }

    @Test func `a published service is found, and lost when it stops`() async {
        publish("Lamp", on: here)
        await expect(here, "published Lamp")
        #expect(here.log.lines == ["will publish Lamp", "published Lamp"])
        search("_demo._tcp.", on: there)
        await expect(there, "found Lamp _demo._tcp. local.")
        #expect(there.log.lines.first == "will search")
        here.perform { host in host.service("Lamp")?.stop() }
        await expect(here, "stopped")
        await expect(there, "removed Lamp")
        end()
    }

    @Test func `two types are searched for at once, with and without a dot`() async {
        search("_demo._tcp.", on: there, prefix: "one: ")
        search("_other._udp", on: there, prefix: "two: ")
        publish("Lamp", on: here)
        publish("Fan", type: "_other._udp", port: 9, on: here)
        await expect(there, "one: found Lamp _demo._tcp. local.")
        await expect(there, "two: found Fan _other._udp. local.")
        #expect(!there.log.lines.contains { $0.hasPrefix("one: found Fan") || $0.hasPrefix("two: found Lamp") })
        there.perform { host in host.browser("_demo._tcp.")?.stop() }
        await expect(there, "one: search stopped")
        publish("Late", on: here)
        publish("Late 2", type: "_other._udp", on: here)
        await expect(there, "two: found Late 2 _other._udp. local.")
        #expect(!there.log.contains("one: found Late _demo._tcp. local."))
        end()
    }

    @Test func `more is coming until the last of what is known at once`() async {
        for name in ["A", "B", "C"] { publish(name, on: here) }
        for name in ["A", "B", "C"] { await expect(here, "published \(name)") }
        search("_demo._tcp.", on: there)
        await loop.eventually("all three") { there.log.lines.count { $0.hasPrefix("found") } == 3 }
        #expect(there.log.lines.last?.hasSuffix("more") == false)
        there.perform { host in
            let browser = NetServiceBrowser()
            let witness = Witness(host.log, prefix: "again: ")
            browser.delegate = witness
            host.keep(browser, as: "again")
            host.keep(witness, as: "witness again")
            browser.searchForServices(ofType: "_demo._tcp.", inDomain: "")
            // What is known is told to the mailbox while this thread is busy.
            Thread.sleep(forTimeInterval: 0.2)
        }
        await loop.eventually("all three") { there.log.lines.count { $0.hasPrefix("again: found") } == 3 }
        #expect(there.log.lines.suffix(3).map { $0.hasSuffix("more") } == [true, true, false])
        end()
    }

    @Test(arguments: [60, .infinity, .nan, 1e300])
    func `a service that was found is resolved by itself`(timeout: Double) async {
        publish("Lamp", path: "/x", on: here)
        search("_demo._tcp.", on: there) { service in
            service.delegate = nil
            service.resolve(withTimeout: 10)
        }
        await expect(there, "found Lamp _demo._tcp. local.")
        there.perform { host in
            let service = NetService(domain: "local.", type: "_demo._tcp.", name: "Lamp")
            let witness = Witness(host.log)
            service.delegate = witness
            host.keep(service, as: "Lamp")
            host.keep(witness, as: "witness Lamp")
            service.resolve(withTimeout: timeout)
        }
        await expect(there, "resolved Lamp 8080 10.88.0.1 /x")
        #expect(there.log.contains("will resolve Lamp"))
        there.perform { host in host.log.write(host.service("Lamp")?.hostName ?? "-") }
        await loop.eventually("the host") { there.log.lines.last?.hasSuffix(".local.") == true }
        there.perform { host in host.service("Lamp")?.stop() }
        await expect(there, "stopped")
        end()
    }

    @Test func `a service that is not there is not resolved, in time`() async {
        there.perform { host in
            let service = NetService(domain: "local.", type: "_demo._tcp.", name: "Nobody")
            let witness = Witness(host.log)
            service.delegate = witness
            host.keep(service, as: "Nobody")
            host.keep(witness, as: "witness")
            service.resolve(withTimeout: 0.3)
            service.resolve(withTimeout: 0.3)
        }
        await expect(there, "not resolved -72007")
        let lines = ["will resolve Nobody", "not resolved -72003", "not resolved -72007"]
        #expect(there.log.lines == lines)
        end()
    }

    @Test func `a name that is taken gets another one, or fails`() async {
        publish("Lamp", on: here)
        await expect(here, "published Lamp")
        publish("Lamp", port: 81, on: there)
        await expect(there, "published Lamp (2)")
        there.perform { host in
            let service = NetService(domain: "local.", type: "_demo._tcp.", name: "Lamp", port: 82)
            let witness = Witness(host.log)
            service.delegate = witness
            host.keep(service, as: "rigid")
            host.keep(witness, as: "witness rigid")
            service.publish(options: .noAutoRename)
        }
        await expect(there, "not published -72001")
        end()
    }

    @Test func `a service without a name has that of the machine`() async {
        publish("", on: here)
        await loop.eventually("the name") { here.log.lines.contains { $0.hasPrefix("published ") } }
        let name = ProcessInfo.processInfo.hostName.prefix { $0 != "." }
        #expect(here.log.lines.last == "published \(name)")
        end()
    }

    @Test func `texts are followed while a service is monitored`() async {
        publish("Lamp", path: "/1", on: here)
        await expect(here, "published Lamp")
        there.perform { host in
            let service = NetService(domain: "local.", type: "_demo._tcp.", name: "Lamp")
            let witness = Witness(host.log)
            service.delegate = witness
            host.keep(service, as: "Lamp")
            host.keep(witness, as: "witness Lamp")
            service.startMonitoring()
        }
        await expect(there, "text /1")
        here.perform { host in
            let data = NetService.data(fromTXTRecord: ["path": Data("/2".utf8)])
            host.log.write("set \(host.service("Lamp")?.setTXTRecord(data) ?? false)")
            host.log.write("too long \(host.service("Lamp")?.setTXTRecord(Data(count: 2000)) ?? true)")
        }
        await expect(there, "text /2")
        await expect(here, "too long false")
        #expect(here.log.contains("set true"))
        there.perform { host in host.service("Lamp")?.stopMonitoring() }
        end()
    }

    @Test func `what is not valid fails at once`() async {
        publish("Lamp", type: "nonsense", on: here)
        await expect(here, "not published -72004")
        publish("Lamp", port: -1, on: here)
        publish("Lamp", port: 70_000, on: here)
        await loop.eventually("three") { here.log.lines == Array(repeating: "not published -72004", count: 3) }
        search("nonsense", on: there)
        await expect(there, "no search -72004")
        search("_demo._tcp.,_a,_b", on: there)
        await loop.eventually("two") { there.log.lines.count == 2 }
        end()
    }

    @Test func `one browser searches for one thing at a time`() async {
        search("_demo._tcp.", on: there)
        there.perform { host in
            let browser = host.browser("_demo._tcp.")
            browser?.searchForBrowsableDomains()
            browser?.stop()
            browser?.searchForBrowsableDomains()
        }
        await expect(there, "domain local. false")
        #expect(
            there.log.lines.filter { $0 != "search stopped" } == [
                "will search", "no search -72003", "will search", "domain local. false",
            ]
        )
        await expect(there, "search stopped")
        end()
    }

    @Test func `types can be enumerated, and subtypes searched for`() async {
        publish("Lamp", type: "_demo._tcp.,_light", on: here)
        await expect(here, "published Lamp")
        search("_demo._tcp.,_light", on: there)
        await expect(there, "found Lamp _demo._tcp. local.")
        search("_services._dns-sd._udp.", on: there)
        await expect(there, "found _demo _tcp.local. .")
        end()
    }

    @Test func `a type that nobody may register is searched for and resolved, and not published`() async throws {
        let avahi = try await AvahiPeer(in: .current, hostName: "tv", interface: "a1")
        let publisher = try avahi.publish("TV", "_androidtvremote2._tcp", 6466, ["path=/x"])
        search("_androidtvremote2._tcp.", on: there) { service in
            service.delegate = nil
            service.resolve(withTimeout: 10)
        }
        await expect(there, "found TV _androidtvremote2._tcp. local.")
        there.perform { host in
            let service = NetService(domain: "local.", type: "_androidtvremote2._tcp.", name: "TV")
            let witness = Witness(host.log)
            service.delegate = witness
            host.keep(service, as: "TV")
            host.keep(witness, as: "witness TV")
            service.resolve(withTimeout: 60)
        }
        await expect(there, "resolved TV 6466 10.88.0.1 /x")
        publish("Lamp", type: "_androidtvremote2._tcp.", on: there)
        await expect(there, "not published -72004")
        #expect(!there.log.contains("will publish Lamp"))
        withExtendedLifetime((avahi, publisher)) {}
        end()
    }

    @Test func `a service that was stopped can be published again`() async {
        publish("Lamp", on: here)
        await expect(here, "published Lamp")
        here.perform { host in
            let service = host.service("Lamp")
            service?.stop()
            service?.stop()
            service?.publish()
        }
        await loop.eventually("again") { here.log.lines.count { $0 == "published Lamp" } == 2 }
        #expect(here.log.lines.count { $0 == "stopped" } == 1)
        #expect(here.log.lines.count { $0 == "will publish Lamp" } == 2)
        end()
    }

    @Test func `publishing and resolving exclude each other`() async {
        publish("Lamp", on: here)
        await expect(here, "published Lamp")
        here.perform { host in
            host.service("Lamp")?.publish()
            host.service("Lamp")?.resolve()
        }
        await expect(here, "not resolved -72003")
        #expect(here.log.contains("not published -72003"))
        search("_demo._tcp.", on: there)
        await expect(there, "found Lamp _demo._tcp. local.")
        end()
    }

    @Test func `what nobody holds any more is withdrawn, and says nothing`() async {
        publish("Lamp", on: here)
        await expect(here, "published Lamp")
        search("_demo._tcp.", on: there)
        await expect(there, "found Lamp _demo._tcp. local.")
        here.perform { host in unsafe host.objects = [:] }
        await expect(there, "removed Lamp")
        #expect(here.log.lines == ["will publish Lamp", "published Lamp"])
        there.perform { host in
            unsafe host.objects = [:]
            host.log.write("dropped")
        }
        await expect(there, "dropped")
        publish("Fan", on: here)
        await expect(here, "published Fan")
        #expect(there.log.lines.last == "dropped")
        end()
    }

    @Test func `a service says the new text to those who resolve it`() async {
        publish("Lamp", path: "/1", on: here)
        await expect(here, "published Lamp")
        there.perform { host in
            let service = NetService(domain: "local.", type: "_demo._tcp.", name: "Lamp")
            let witness = Witness(host.log)
            service.delegate = witness
            host.keep(service, as: "Lamp")
            host.keep(witness, as: "witness Lamp")
            service.resolve(withTimeout: 0)
        }
        await expect(there, "resolved Lamp 8080 10.88.0.1 /1")
        here.perform { host in
            host.service("Lamp")?.setTXTRecord(NetService.data(fromTXTRecord: ["path": Data("/2".utf8)]))
        }
        await expect(there, "resolved Lamp 8080 10.88.0.1 /2")
        end()
    }

    @Test func `the time for resolving ends with a word, once the service was found`() async {
        publish("Lamp", on: here)
        await expect(here, "published Lamp")
        there.perform { host in
            let service = NetService(domain: "local.", type: "_demo._tcp.", name: "Lamp")
            let witness = Witness(host.log)
            service.delegate = witness
            host.keep(service, as: "Lamp")
            host.keep(witness, as: "witness Lamp")
            service.resolve(withTimeout: 3)
        }
        await expect(there, "resolved Lamp 8080 10.88.0.1 -")
        await expect(there, "stopped")
        #expect(!there.log.lines.contains { $0.hasPrefix("not resolved") })
        end()
    }

    @Test func `a service on two cables is found once, and lost with the second`() async throws {
        let namespace = Namespace.current
        try namespace.connect("a2", to: peer, as: "b2")
        try namespace.ip("addr add 10.89.0.1/24 dev a2")
        try peer.ip("addr add 10.89.0.2/24 dev b2")
        publish("Lamp", on: here)
        await expect(here, "published Lamp")
        search("_demo._tcp.", on: there)
        await expect(there, "found Lamp _demo._tcp. local.")
        there.perform { host in
            let service = NetService(domain: "local.", type: "_demo._tcp.", name: "Lamp")
            let witness = Witness(host.log)
            service.delegate = witness
            host.keep(service, as: "Lamp")
            host.keep(witness, as: "witness Lamp")
            service.resolve(withTimeout: 0)
        }
        await loop.eventually("both addresses") {
            there.log.lines.contains { $0.hasPrefix("resolved Lamp 8080 10.88.0.1,10.89.0.1") }
        }
        try peer.set("b1", isUp: false)
        await loop.eventually("one address") {
            there.log.lines.last { $0.hasPrefix("resolved") } == "resolved Lamp 8080 10.89.0.1 -"
        }
        #expect(there.log.lines.count { $0.hasPrefix("found") } == 1)
        #expect(!there.log.contains("removed Lamp"))
        try peer.set("b2", isUp: false)
        await expect(there, "removed Lamp")
        end()
    }

    @Test func `domains for registration are those of links`() async {
        there.perform { host in
            let browser = NetServiceBrowser()
            let witness = Witness(host.log)
            browser.delegate = witness
            browser.includesPeerToPeer = true
            host.keep(browser, as: "browser")
            host.keep(witness, as: "witness")
            browser.searchForRegistrationDomains()
            browser.remove(from: .current, forMode: .default)
            browser.schedule(in: .current, forMode: .default)
        }
        await expect(there, "domain local. false")
        #expect(there.log.lines == ["will search", "domain local. false"])
        end()
    }

    @Test func `delegates may leave everything out`() async {
        final class Silent: NSObject, NetServiceDelegate, NetServiceBrowserDelegate {}
        there.perform { host in
            let silent = Silent()
            let service = NetService(domain: "local.", type: "_demo._tcp.", name: "Quiet", port: 1)
            service.delegate = silent
            let browser = NetServiceBrowser()
            browser.delegate = silent
            for (name, object) in [("a", silent), ("b", service), ("c", browser)] as [(String, NSObject)] {
                host.keep(object, as: name)
            }
            browser.searchForServices(ofType: "_demo._tcp.", inDomain: "local.")
            browser.searchForServices(ofType: "_demo._tcp.", inDomain: "local.")
            service.publish()
            service.publish()
            service.resolve()
            service.startMonitoring()
        }
        search("_demo._tcp.", on: here)
        await expect(here, "found Quiet _demo._tcp. local.")
        there.perform { host in
            host.service("b")?.stopMonitoring()
            host.service("b")?.stop()
            host.browser("c")?.stop()
        }
        await expect(here, "removed Quiet")
        end()
    }

    @Test func `a service that is scheduled nowhere is silent until it is scheduled`() async {
        here.perform { host in
            let service = NetService(domain: "local.", type: "_demo._tcp.", name: "Lamp", port: 1)
            let witness = Witness(host.log)
            service.delegate = witness
            host.keep(service, as: "Lamp")
            host.keep(witness, as: "witness")
            service.remove(from: .current, forMode: .default)
            service.publish()
        }
        search("_demo._tcp.", on: there)
        await expect(there, "found Lamp _demo._tcp. local.")
        #expect(here.log.lines == ["will publish Lamp"])
        here.perform { host in host.service("Lamp")?.schedule(in: .current, forMode: .default) }
        await expect(here, "published Lamp")
        end()
    }

    @Test func `a found service can be stopped without having been started`() async {
        publish("Lamp", on: here)
        search("_demo._tcp.", on: there) { service in
            service.stop()
            service.stopMonitoring()
        }
        await expect(there, "found Lamp _demo._tcp. local.")
        #expect(!there.log.contains("stopped"))
        end()
    }
}
