// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
@testable import Network
import Testing

@Suite struct BrowseTableTests {
    private let eth0 = NWInterface(name: "eth0", index: 2, type: .wiredEthernet)
    private let wlan0 = NWInterface(name: "wlan0", index: 3, type: .wifi)
    private let lamp = BrowseTable.Service(name: "Lamp", type: "_http._tcp", domain: "local.")
    private let fan = BrowseTable.Service(name: "Fan", type: "_http._tcp", domain: "local.")

    private func result(
        _ name: String,
        _ interfaces: [NWInterface],
        _ metadata: NWBrowser.Result.Metadata = .none
    ) -> NWBrowser.Result {
        let endpoint = NWEndpoint.service(name: name, type: "_http._tcp", domain: "local.", interface: nil)
        return NWBrowser.Result(endpoint: endpoint, interfaces: interfaces, metadata: metadata)
    }

    @Test func `a service comes and goes`() {
        var table = BrowseTable()
        table.appeared(lamp, on: eth0)
        let added = table.drainChanges()
        #expect(added == [.added(result("Lamp", [eth0]))])
        #expect(table.results == [result("Lamp", [eth0])])
        table.vanished(lamp, from: 2)
        let removed = table.drainChanges()
        #expect(removed == [.removed(result("Lamp", [eth0]))])
        #expect(table.results.isEmpty)
    }

    @Test func `a second interface changes the result, and adds none`() {
        var table = BrowseTable()
        table.appeared(lamp, on: wlan0)
        _ = table.drainChanges()
        table.appeared(lamp, on: eth0)
        let (one, two) = (result("Lamp", [wlan0]), result("Lamp", [eth0, wlan0]))
        let more = table.drainChanges()
        #expect(more == [.changed(old: one, new: two, flags: .interfaceAdded)])
        table.vanished(lamp, from: 3)
        let less = table.drainChanges()
        #expect(less == [.changed(old: two, new: result("Lamp", [eth0]), flags: .interfaceRemoved)])
        #expect(table.results.count == 1)
    }

    @Test func `moving to another interface is one change with both flags`() {
        var table = BrowseTable()
        table.appeared(lamp, on: wlan0)
        _ = table.drainChanges()
        table.appeared(lamp, on: eth0)
        table.vanished(lamp, from: 3)
        let changes = table.drainChanges()
        let flags: NWBrowser.Result.Change.Flags = [.interfaceAdded, .interfaceRemoved]
        #expect(changes == [.changed(old: result("Lamp", [wlan0]), new: result("Lamp", [eth0]), flags: flags)])
    }

    @Test func `new text is a change of metadata`() {
        var table = BrowseTable()
        table.appeared(lamp, on: eth0, text: NWTXTRecord(["a": "1"]))
        _ = table.drainChanges()
        table.appeared(lamp, on: eth0, text: NWTXTRecord(["a": "2"]))
        let old = result("Lamp", [eth0], .bonjour(NWTXTRecord(["a": "1"])))
        let new = result("Lamp", [eth0], .bonjour(NWTXTRecord(["a": "2"])))
        let changes = table.drainChanges()
        #expect(changes == [.changed(old: old, new: new, flags: .metadataChanged)])
        table.appeared(lamp, on: eth0, text: NWTXTRecord(["a": "2"]))
        let nothing = table.drainChanges()
        #expect(nothing.isEmpty)
    }

    @Test func `the text is that of the first interface`() {
        var table = BrowseTable()
        table.appeared(lamp, on: wlan0, text: NWTXTRecord(["on": "wlan0"]))
        table.appeared(lamp, on: eth0, text: NWTXTRecord(["on": "eth0"]))
        _ = table.drainChanges()
        #expect(table.results.first?.metadata == .bonjour(NWTXTRecord(["on": "eth0"])))
    }

    @Test func `what came and went between two looks is not told`() {
        var table = BrowseTable()
        table.appeared(lamp, on: eth0)
        table.vanished(lamp, from: 2)
        #expect(table.isTouched)
        let changes = table.drainChanges()
        #expect(changes.isEmpty && !table.isTouched && table.results.isEmpty)
    }

    @Test func `a burst is told at once`() {
        var table = BrowseTable()
        table.appeared(lamp, on: eth0)
        table.appeared(fan, on: eth0)
        table.appeared(fan, on: wlan0)
        let changes = table.drainChanges()
        #expect(changes == [.added(result("Lamp", [eth0])), .added(result("Fan", [eth0, wlan0]))])
    }

    @Test func `what is not there cannot go`() {
        var table = BrowseTable()
        table.vanished(lamp, from: 2)
        #expect(!table.isTouched)
        table.appeared(lamp, on: eth0)
        table.vanished(lamp, from: 3)
        let changes = table.drainChanges()
        #expect(changes == [.added(result("Lamp", [eth0]))])
    }

    @Test func `changes compare two results`() {
        typealias Change = NWBrowser.Result.Change
        let one = result("Lamp", [eth0])
        #expect(Change(between: nil, nil) == .identical)
        #expect(Change(between: one, one) == .identical)
        #expect(Change(between: nil, one) == .added(one))
        #expect(Change(between: one, nil) == .removed(one))
        let flags: [UInt8] = [
            Change.Flags.identical, .interfaceAdded, .interfaceRemoved, .metadataChanged,
        ].map(\.rawValue)
        #expect(flags == [1, 2, 4, 8])
    }
}

@Suite struct BrowseQuestionTests {
    @Test(arguments: ["_http._tcp", "_http._tcp.", "_HTTP._tcp"])
    func `types are taken with and without a dot`(type: String) throws {
        let question = try BrowseQuestion(.bonjour(type: type, domain: nil))
        #expect(question.pointer == DomainName("_http._tcp.local"))
        #expect(!question.wantsText)
        #expect(try BrowseQuestion(.bonjourWithTXTRecord(type: type, domain: "local.")).wantsText)
    }

    /// Nobody may register them: too long, an underscore, no letter, two hyphens.
    @Test(arguments: ["_androidtvremote2._tcp", "_nvstream_dbd._tcp", "_8886._tcp", "_a--b._udp"])
    func `types of real devices are valid`(type: String) throws {
        #expect(try BrowseQuestion(.bonjour(type: type, domain: nil)).pointer == DomainName("\(type).local"))
        let longest = "_" + String(repeating: "x", count: 62) + "._tcp"
        #expect(try BrowseQuestion(.bonjour(type: longest, domain: nil)).pointer == DomainName("\(longest).local"))
        #expect(throws: NWError.dns(kDNSServiceErr_BadParam)) {
            try BrowseQuestion(.bonjour(type: "_x" + longest.dropFirst(), domain: nil))
        }
    }

    @Test(arguments: ["_services._dns-sd._udp", "_Services._dns-sd._udp."])
    func `types are enumerated, and have no text`(type: String) throws {
        let question = try BrowseQuestion(.bonjourWithTXTRecord(type: type, domain: nil))
        #expect(question.pointer == DomainName("_services._dns-sd._udp.local") && !question.wantsText)
        let (found, other) = (DomainName("_http._tcp.local"), DomainName("lamp._http._tcp.local"))
        #expect(question.service(try #require(found)) == .init(name: "_http", type: "_tcp.local.", domain: "."))
        #expect(question.service(try #require(other)) == nil)
    }

    @Test func `subtypes follow a comma`() throws {
        let question = try BrowseQuestion(.bonjour(type: "_http._tcp,_printer", domain: "local"))
        #expect(question.pointer == DomainName("_printer._sub._http._tcp.local"))
    }

    @Test(arguments: ["", "http", "_http", "_http._sctp", "_http._tcp,", "_http._tcp,_a,_b", "._tcp"])
    func `refuses types that are not valid`(type: String) {
        #expect(throws: NWError.dns(kDNSServiceErr_BadParam)) {
            try BrowseQuestion(.bonjour(type: type, domain: nil))
        }
    }

    @Test(arguments: ["example.com", "example.com.", "com"])
    func `refuses domains that no link has`(domain: String) {
        #expect(throws: NWError.dns(kDNSServiceErr_Unsupported)) {
            try BrowseQuestion(.bonjour(type: "_http._tcp", domain: domain))
        }
    }

    @Test(arguments: [nil, "", "local", "local.", "LOCAL."]) func `knows the domain of links`(domain: String?) throws {
        _ = try BrowseQuestion(.bonjour(type: "_http._tcp", domain: domain))
    }

    @Test func `refuses services of paired devices`() {
        #expect(throws: NWError.dns(kDNSServiceErr_Unsupported)) {
            try BrowseQuestion(.applicationService(name: "x"))
        }
    }

    @Test func `reads the parts of an instance`() throws {
        let labels = ["Café 2. Lamp", "_http", "_tcp", "local"].map { Array($0.utf8) }
        let service = ServiceNames.service(try DomainName(labels: labels))
        #expect(service == BrowseTable.Service(name: "Café 2. Lamp", type: "_http._tcp", domain: "local."))
        let broken = try DomainName(labels: [[0xFF], Array("_a".utf8), Array("_tcp".utf8), Array("local".utf8)])
        #expect(ServiceNames.service(broken) == nil)
        #expect(ServiceNames.service(try DomainName(labels: Array(labels.prefix(3)))) == nil)
        // python-zeroconf cuts names at their dots.
        let cut = ["Dr", " No", "_http", "_tcp", "local"].map { Array($0.utf8) }
        #expect(ServiceNames.parts(try DomainName(labels: cut)) ?? ("", "") == ("Dr. No", "_http._tcp"))
        let other = ["a", "b", "http", "_tcp", "local"].map { Array($0.utf8) }
        #expect(ServiceNames.parts(try DomainName(labels: other)) == nil)
    }
}

@Suite struct InterfaceFilterTests {
    private let eth0 = NWInterface(name: "eth0", index: 2, type: .wiredEthernet)
    private let wlan0 = NWInterface(name: "wlan0", index: 3, type: .wifi)

    private func allowed(_ change: (NWParameters) -> Void) -> [String] {
        let parameters = NWParameters()
        change(parameters)
        let filter = InterfaceFilter(parameters.values)
        return [eth0, wlan0].filter { filter.allows($0) }.map(\.name)
    }

    @Test func `allows everything unless told`() { #expect(allowed { _ in } == ["eth0", "wlan0"]) }

    @Test func `allows what is required alone`() {
        #expect(allowed { $0.requiredInterface = wlan0 } == ["wlan0"])
        #expect(allowed { $0.requiredInterfaceType = .wiredEthernet } == ["eth0"])
        #expect(allowed { $0.requiredInterfaceType = .other } == ["eth0", "wlan0"], "other is no limit")
    }

    @Test func `leaves out what is prohibited`() {
        #expect(allowed { $0.prohibitedInterfaces = [eth0] } == ["wlan0"])
        #expect(allowed { $0.prohibitedInterfaceTypes = [.wifi, .cellular] } == ["eth0"])
        #expect(allowed { $0.prohibitedInterfaceTypes = [.wifi, .wiredEthernet] } == [])
    }

    @Test func `knows an interface by its index, as its name may change`() {
        let renamed = NWInterface(name: "lan", index: 2, type: .wiredEthernet)
        #expect(allowed { $0.requiredInterface = renamed } == ["eth0"])
    }
}
