// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Glibc
import LinuxIO
import MulticastDNS
import TestSupport
import Testing

@Suite(.inNamespace) struct AvahiTests {
    @Test func `finds, resolves and loses a service of avahi-daemon on both families`() async throws {
        let wire = try Wire()
        let loop = wire.here.loop
        let avahi = try await AvahiPeer(in: wire.peer, hostName: "avahi-host")
        let publisher = try avahi.publish("Büro: Dr. No's", "_ipp._tcp", 631, ["txtvers=1", "note", "empty="])
        let recorder = try Recorder(wire)
        recorder.start()
        await loop.eventually(within: .seconds(60)) { recorder.service("Büro: Dr. No's") != nil }
        let service = try #require(recorder.service("Büro: Dr. No's"))
        #expect(service.type == "_ipp._tcp" && service.domain == "local" && service.port == 631)
        #expect(service.host == "avahi-host.local" && service.interface == "v0")
        #expect(service.text.map(\.key).sorted() == ["empty", "note", "txtvers"])
        #expect(service.text.first { $0.key == "note" }?.value == nil)
        #expect(service.text.first { $0.key == "empty" }?.value == [])
        await loop.eventually {
            Set(recorder.service("Büro: Dr. No's")?.addresses.map(\.address.family) ?? []).count == 2
        }
        #expect(recorder.census.serviceTypes.contains("_ipp._tcp"))

        await loop.eventually(within: .seconds(90)) { recorder.summaries.contains { $0.services >= 1 } }
        #expect(recorder.summaries.first?.interfaces == ["v0"])

        publisher.signal(SIGTERM)
        await loop.eventually(within: .seconds(60)) { recorder.service("Büro: Dr. No's") == nil }
        #expect(recorder.removals.map(\.reason) == [.goodbye])
        #expect(recorder.events.contains(.typeRemoved("_ipp._tcp")))
        for family in AddressFamily.allCases {
            let counted = recorder.census.engine.counters[.init(interface: "v0", family: family)]
            #expect((counted?.sent ?? 0) > 0 && (counted?.received ?? 0) > 0)
            #expect(counted?.malformed == 0 && counted?.sendFailures == 0)
        }
    }

    @Test(arguments: [true, false])
    func `shares the port with an avahi-daemon on the same host, whoever comes first`(avahiFirst: Bool) async throws {
        let wire = try Wire()
        let loop = wire.here.loop
        let recorder = try Recorder(wire)
        if !avahiFirst { recorder.start() }
        let avahi = try await AvahiPeer(in: wire.here, hostName: "same-host", interface: "v0")
        let local = try avahi.publish("Local", "_ipp._tcp", 631, [])
        let responder = try SimulatedResponder(in: wire.peer)
        responder.set(MadeUpService().all)
        if avahiFirst {
            await loop.eventually(within: .seconds(60)) {
                responder.queries.contains { !$0.authorities.isEmpty }
            }
            recorder.start()
        }
        await loop.eventually(within: .seconds(60)) {
            recorder.service("Local") != nil && recorder.service("Lamp") != nil
        }
        #expect(recorder.service("Local")?.host == "same-host.local")
        for (key, counted) in recorder.census.engine.counters {
            #expect(counted.socketFailures == 0, "\(key): \(counted)")
            #expect(counted.echoes > 0, "\(key): \(counted)")
        }
        local.signal(SIGTERM)
        await loop.eventually(within: .seconds(60)) { recorder.service("Local") == nil }
        #expect(recorder.removals.map(\.reason) == [.goodbye])
    }

    @Test func `browses a subtype, resolves an instance, and looks hosts up both ways`() async throws {
        let wire = try Wire()
        let loop = wire.here.loop
        let engine = MulticastEngine(loop: loop, clock: KernelClock())
        engine.setInterfaces([try wire.interface()])
        engine.start()
        let avahi = try await AvahiPeer(in: wire.peer, hostName: "avahi-host")
        let options = ["--subtype=_color._sub._ipp._tcp"]
        let publisher = try avahi.publish("Printer", "_ipp._tcp", 631, ["rp=a"], options: options)
        let subtype = try #require(DomainName("_color._sub._ipp._tcp.local"))
        let instance = try #require(DomainName("Printer._ipp._tcp.local"))
        let host = try #require(DomainName("avahi-host.local"))
        var events: [BrowseEvent] = []
        let browse = ServiceBrowse(engine, types: [subtype]) { events.append($0) }
        let resolve = InstanceResolve(engine, instance: instance) { _ in }
        await loop.eventually(within: .seconds(60)) { browse.services.count == 1 && resolve.services.count == 1 }
        #expect(browse.announcements.map(\.subtypes) == [["_color"]] && browse.services.first?.type == "_ipp._tcp")
        #expect(resolve.services.first?.port == 631 && resolve.services.first?.host == "avahi-host.local")
        let lookup = HostLookup(engine, host: host) { _ in }
        let reverse = ReverseLookup(engine, address: .v4(0xC000_0202)) { _ in }
        await loop.eventually(within: .seconds(60)) {
            lookup.answers.first?.addresses.count == 2 && reverse.names == [host]
        }
        publisher.signal(SIGTERM)
        await loop.eventually(within: .seconds(60)) { browse.services.isEmpty && resolve.services.isEmpty }
        guard case .lost(_, _, .goodbye, _) = events.last else {
            Issue.record("the goodbye was not told")
            return
        }
        engine.stop()
    }
}
