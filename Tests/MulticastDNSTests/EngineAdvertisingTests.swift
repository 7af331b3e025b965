// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import LinuxIO
import TestSupport
import Testing

@testable import MulticastDNS

/// Two engines of one namespace, each at one end of a cable, by IPv6 alone.
private final class Pair {
    let loop: EventLoop
    let near: MulticastEngine
    let far: MulticastEngine
    let namespace = Namespace.current
    var events: [BrowseEvent] = []
    var told: [AdvertisementEvent.Kind] = []
    private var browses: [ServiceBrowse] = []

    init() throws {
        loop = namespace.loop
        try namespace.run(["sh", "-c", "for i in all default; do echo 0 > /proc/sys/net/ipv6/conf/$i/accept_dad; done"])
        try namespace.ipBatch(["link add v0 type veth peer name v1", "link set v0 up", "link set v1 up"])
        for device in ["v0", "v1"] { try namespace.waitForAddresses(on: device, isLinkLocal: true) }
        near = MulticastEngine(loop: loop, clock: KernelClock())
        far = MulticastEngine(loop: loop, clock: KernelClock())
        near.setInterfaces([try namespace.multicastInterface("v0")])
        far.setInterfaces([try namespace.multicastInterface("v1")])
        near.start()
        far.start()
    }

    deinit {
        browses = []
        near.stop()
        far.stop()
    }

    func browse(_ type: String = "_lamp._tcp.local", by engine: MulticastEngine? = nil) {
        let types = [DomainName(type)].compactMap(\.self)
        browses.append(ServiceBrowse(engine ?? near, types: types) { [unowned self] in events.append($0) })
    }

    func lamp(_ name: String = "Lamp", host: String = "lamp.local") -> ServiceRegistration {
        var service = ServiceRegistration(name: Array(name.utf8), type: "_lamp._tcp", port: 80)
        service.host = .claimed(DomainName(host) ?? DomainName(), addresses: nil)
        service.text = [.init(key: "a", value: [49])]
        return service
    }

    @discardableResult
    func advertise(_ service: ServiceRegistration, by engine: MulticastEngine? = nil) throws -> AdvertisementID {
        try (engine ?? far).advertise(service) { [unowned self] in told.append($0.kind) }
    }

    var services: [Service] { browses.flatMap(\.services) }
    var summary: [String] { events.map(BrowseEvent.text) }
}

@Suite(.inNamespace) struct EngineAdvertisingTests {
    @Test func `what one engine advertises the other finds, follows and loses`() async throws {
        let pair = try Pair()
        pair.browse()
        let id = try pair.advertise(pair.lamp())
        await pair.loop.eventually { pair.services.count == 1 }
        let service = try #require(pair.services.first)
        let v1 = try pair.namespace.multicastInterface("v1").addresses.map { ScopedAddress($0.address, scope: "v0") }
        #expect(service.host == "lamp.local" && service.port == 80 && service.addresses == v1.sorted())
        let name = try #require(DomainName("Lamp._lamp._tcp.local"))
        #expect(pair.told == [.registered(name)] && pair.far.advertiser.name(of: id) == name)
        try pair.far.update(text: [.init(key: "a", value: [50])], of: id)
        await pair.loop.eventually { pair.services.first?.rawText == [Array("a=2".utf8)] }
        pair.far.withdraw(id)
        await pair.loop.eventually { pair.services.isEmpty }
        #expect(pair.summary.last == "lost Lamp goodbye")
    }

    @Test func `stopping says goodbye, starting announces again`() async throws {
        let pair = try Pair()
        pair.browse()
        try pair.advertise(pair.lamp())
        await pair.loop.eventually { pair.services.count == 1 }
        pair.far.stop()
        await pair.loop.eventually { pair.services.isEmpty }
        #expect(pair.summary.last == "lost Lamp goodbye")
        pair.far.start()
        await pair.loop.eventually { pair.services.count == 1 }
    }

    @Test func `an engine finds what it advertises itself, before and after`() async throws {
        let pair = try Pair()
        pair.browse(by: pair.far)
        let id = try pair.advertise(pair.lamp())
        await pair.loop.eventually { pair.services.count == 1 }
        pair.browse(by: pair.far)
        await pair.loop.eventually { pair.services.count == 2 }
        pair.far.withdraw(id)
        await pair.loop.eventually { pair.services.isEmpty }
    }

    @Test func `a name that is taken is changed, and both are found`() async throws {
        let pair = try Pair()
        pair.browse()
        try pair.advertise(pair.lamp(host: "one.local"), by: pair.near)
        await pair.loop.eventually { pair.told.count == 1 }
        try pair.advertise(pair.lamp(host: "two.local"))
        await pair.loop.eventually { Set(pair.services.map(\.name)) == ["Lamp", "Lamp (2)"] }
        let names = ["Lamp", "Lamp (2)"].compactMap { try? DomainName(labels: [Array($0.utf8)]) }
        #expect(
            pair.told.contains {
                if case .renamed(_, let to) = $0 { to.firstLabel == names[1].firstLabel } else { false }
            }
        )
    }

    @Test func `a service moves to the machine's new name, and is not lost for a moment`() async throws {
        let pair = try Pair()
        pair.browse()
        var lamp = pair.lamp()
        lamp.host = .machine
        pair.far.apply(hostName: "one")
        try pair.advertise(lamp)
        await pair.loop.eventually { pair.services.first?.host == "one.local" }
        pair.far.apply(hostName: "two.example.com")
        await pair.loop.eventually { pair.services.first?.host == "two.local" }
        let one = try #require(DomainName("one.local"))
        let lookup = HostLookup(pair.near, host: one) { _ in }
        await pair.loop.eventually { lookup.answers.allSatisfy(\.addresses.isEmpty) }
        #expect(!pair.summary.contains { $0.hasPrefix("lost") } && pair.services.first?.addresses.isEmpty == false)
    }

    @Test func `a link that comes later gets what is advertised, one that goes takes it along`() async throws {
        let pair = try Pair()
        pair.far.setInterfaces([])
        try pair.advertise(pair.lamp())
        pair.browse()
        pair.far.setInterfaces([try pair.namespace.multicastInterface("v1")])
        await pair.loop.eventually { pair.services.count == 1 }
        pair.far.setInterfaces([])
        pair.far.resume()
        pair.far.setInterfaces([try pair.namespace.multicastInterface("v1")])
        pair.near.resume()
        await pair.loop.eventually { pair.services.count == 1 }
    }

    @Test func `a host name alone can be claimed, and follows the addresses of its interface`() async throws {
        let pair = try Pair()
        let host = try #require(DomainName("box.local"))
        try pair.far.advertise(HostRegistration(name: host))
        let lookup = HostLookup(pair.near, host: host) { _ in }
        await pair.loop.eventually { lookup.answers.first?.addresses.isEmpty == false }
        try pair.namespace.ip("address add 2001:db8::7/64 dev v1")
        pair.far.setInterfaces([try pair.namespace.multicastInterface("v1")])
        let added = try #require(IPAddress("2001:db8::7"))
        await pair.loop.eventually { lookup.answers.first?.addresses.contains(ScopedAddress(added)) == true }
    }

    @Test func `what may not be advertised is refused at once`() throws {
        let pair = try Pair()
        var service = pair.lamp()
        service.type = "lamp"
        #expect(throws: RegistrationError.self) { try pair.far.advertise(service) }
        #expect(throws: RegistrationError.self) { try pair.far.advertise(HostRegistration(name: DomainName())) }
    }
}
