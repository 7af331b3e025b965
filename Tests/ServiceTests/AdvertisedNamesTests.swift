// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import LinuxIO
import MulticastDNS
import TestSupport
import Testing

@testable import Configuration
@testable import PathService

private func name(_ text: String) -> DomainName { DomainName(text) ?? DomainName() }

/// The names that outlive a restart (rule P12).
@Suite struct AdvertisedNamesTests {
    private let chosen = [
        name("Dr\\. \"No\"._a._tcp.local"): name("Dr\\. \"No\" (2)._a._tcp.local"),
        name("box.local"): name("box-2.local"),
    ]

    @Test func `what was written is read again`() throws {
        let scratch = try Scratch()
        var names = AdvertisedNames(directory: scratch.path)
        #expect(names.read().isEmpty && names.problem == nil)
        names.write(chosen)
        names.write(chosen)
        #expect(names.problem == nil && !scratch.exists("names.json.new"))
        #expect(try scratch.mode("names.json").hasPrefix("640"))
        var again = AdvertisedNames(directory: scratch.path)
        #expect(again.read() == chosen && again.problem == nil)
    }

    @Test func `a pair that says nothing is left out`() {
        let pairs = #"[{"wanted":"a.local"},7,{"wanted":"b.local","chosen":"b-2.local"}]"#
        let text = #"{"schema":"nwpath.names/1","names":\#(pairs)}"#
        #expect(AdvertisedNames.parse(Array(text.utf8)) == [name("b.local"): name("b-2.local")])
    }

    @Test(arguments: ["", "[]", "no JSON", #"{"schema":"nwpath.services/1"}"#])
    func `a file that is something else is kept beside`(text: String) throws {
        let scratch = try Scratch()
        try scratch.write(text, to: "names.json")
        var names = AdvertisedNames(directory: scratch.path)
        #expect(names.read().isEmpty)
        #expect(names.problem?.contains("is now \(scratch.file("names.json")).foreign") == true)
        #expect(try scratch.text("names.json.foreign") == text)
    }

    @Test func `a directory that is gone is a problem, and no more`() throws {
        var names = AdvertisedNames(directory: "/nonexistent")
        names.write(chosen)
        #expect(names.problem?.contains("names chosen now are lost") == true)
        #expect(names.read().isEmpty)
    }
}

/// From the configuration to what the engine advertises.
@Suite(.inNamespace) struct ServiceAdvertiserTests {
    private func service(_ name: String?, port: Int = 1, on interfaces: [String] = []) -> AdvertisedService {
        var service = AdvertisedService()
        (service.name, service.type, service.port, service.interfaces) = (name, "_a._tcp", port, interfaces)
        return service
    }

    @Test func `a registration has what the configuration says, and the host's name by default`() {
        var configured = service(nil, port: 8353, on: ["eth0"])
        configured.subtypes = ["_x"]
        configured.text = [.init(key: "path", value: Array("/metrics".utf8))]
        let registration = configured.registration(hostName: "bo\u{308}x")
        #expect(registration.name == Array("b\u{F6}x".utf8) && registration.port == 8353)
        #expect(registration.interfaces == ["eth0"] && registration.subtypes == [Array("_x".utf8)])
        #expect(registration.text == configured.text && registration.host == .machine)
        #expect(service("A").registration(hostName: "box").interfaces == nil)
    }

    @Test func `a new list adds, changes in place, and withdraws`() throws {
        let scratch = try Scratch()
        let loop = Namespace.current.loop
        let engine = MulticastEngine(loop: loop, clock: loop.clock)
        let advertiser = ServiceAdvertiser(engine, hostName: "box", directory: scratch.path)
        advertiser.open()
        advertiser.offer([service("A"), service("B"), service(nil)])
        advertiser.offer([service("A", port: 2), service(nil), service("C"), service("A", on: ["eth0"])])
        advertiser.offer([])
        #expect(advertiser.problem == nil)
        var wrong = service("A")
        wrong.type = "nonsense"
        advertiser.offer([wrong])
        #expect(advertiser.problem?.hasPrefix("nonsense cannot be advertised: ") == true)
        advertiser.offer([service("A")])
        #expect(advertiser.problem == nil)
    }
}
