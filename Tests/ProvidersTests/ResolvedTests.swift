// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import LinuxIO
import PathModel
import TestSupport
import Testing

@testable import Providers

@Suite struct ResolvedReaderTests {
    private let names = InterfaceNames(index: { _ in nil }, name: { $0 == 2 ? "eth0" : nil })

    private func entry(_ index: Int64, _ bytes: [UInt8], _ port: UInt64) -> BusValue {
        .list([.signed(index), .signed(bytes.count == 4 ? 2 : 10), .bytes(bytes), .unsigned(port), .text("")])
    }

    @Test func `reads global and per-link servers once each`() {
        let local: [UInt8] = [0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [1]
        let list: BusValue = .list([
            entry(0, [192, 0, 2, 1], 0), entry(2, local, 0), entry(0, [192, 0, 2, 1], 53),
            entry(0, [192, 0, 2, 2], 5353),
        ])
        let servers = ResolvedReader.servers(["DNSEx": list], names: names)
        #expect(servers?.map(\.description) == ["192.0.2.1", "fe80::1%eth0", "192.0.2.2:5353"])
        #expect(servers?.map(\.interfaceIndex) == [nil, 2, nil])
    }

    @Test func `takes the fallback servers only when there are no others`() {
        let one: BusValue = .list([.list([.signed(0), .signed(2), .bytes([192, 0, 2, 1])])])
        let two: BusValue = .list([entry(0, [192, 0, 2, 2], 0)])
        #expect(ResolvedReader.servers(["DNS": one, "FallbackDNSEx": two], names: names)?.count == 1)
        let fallback = ResolvedReader.servers(["DNSEx": .list([]), "FallbackDNSEx": two], names: names)
        #expect(fallback?.map(\.description) == ["192.0.2.2"])
        #expect(ResolvedReader.servers(["DNSEx": .list([])], names: names) == [])
    }

    @Test(
        arguments: [
            ([], [:], [false, false, false]), ([(2, "corp.example", true)], [:], [false, true, false]),
            ([(2, "corp.example", false)], [:], [false, false, false]),
            ([(2, "corp.example", true)], [2: true], [false, false, false]),
            ([], [2: false, 3: false], [false, true, true]),
            ([(3, ".", true)], [2: true, 3: false], [true, true, false]),
            ([(0, "", true)], [2: true], [false, true, true]),
            ([(9, ".", true)], [:], [false, false, false]),
        ] as [([(Int64, String, Bool)], [Int: Bool], [Bool])]
    )
    func `reads which servers are for some domains only`(
        domains: [(Int64, String, Bool)],
        defaultRoutes: [Int: Bool],
        expected: [Bool]
    ) {
        let servers: BusValue = .list([
            entry(0, [192, 0, 2, 1], 0), entry(2, [192, 0, 2, 2], 0), entry(3, [192, 0, 2, 3], 0),
        ])
        let list: BusValue = .list(domains.map { .list([.signed($0.0), .text($0.1), .flag($0.2)]) })
        let properties = ["DNSEx": servers, "Domains": list]
        let uses = defaultRoutes.mapValues { ResolvedReader.LinkUse(isDefault: $0) }
        let read = ResolvedReader.servers(properties, uses: uses, names: names)
        #expect(read?.map(\.isForDomainsOnly) == expected)
        #expect(ResolvedReader.links(properties) == [2, 3])
    }

    @Test func `a link that is not used for DNS counts neither with its servers nor with its domains (S35)`() {
        let domains: BusValue = .list([.list([.signed(2), .text("."), .flag(true)])])
        var properties: BusObjects.Properties = [
            "DNSEx": .list([entry(2, [192, 0, 2, 2], 0), entry(3, [192, 0, 2, 3], 0)]), "Domains": domains,
        ]
        for isUsed in [false, true] {
            let use = ["ScopesMask": BusValue.unsigned(isUsed ? 1 : 8), "DefaultRoute": .flag(isUsed)]
            let uses = [2: ResolvedReader.use(use), 3: .init(isDefault: true)].compactMapValues(\.self)
            let read = ResolvedReader.servers(properties, uses: uses, names: names)
            #expect(read?.map(\.description) == (isUsed ? ["192.0.2.2", "192.0.2.3"] : ["192.0.2.3"]))
            #expect(read?.map(\.isForDomainsOnly) == (isUsed ? [false, true] : [false]))
        }
        // It keeps systemd-resolved from its fallback servers all the same.
        properties["DNSEx"] = .list([entry(2, [192, 0, 2, 2], 0)])
        properties["FallbackDNSEx"] = .list([entry(0, [192, 0, 2, 9], 0)])
        let unused = [2: ResolvedReader.LinkUse(isUsed: false, isDefault: false)]
        #expect(ResolvedReader.servers(properties, uses: unused, names: names) == [])
    }

    @Test(arguments: [(nil, false), ([192, 0, 2, 2], false), ([192, 0, 2, 9], true)] as [([UInt8]?, Bool)])
    func `fallback servers are used beside others where one is the current server (S35)`(
        current: [UInt8]?,
        isFallback: Bool
    ) {
        var properties: BusObjects.Properties = [
            "DNSEx": .list([entry(2, [192, 0, 2, 2], 0)]), "FallbackDNSEx": .list([entry(0, [192, 0, 2, 9], 0)]),
        ]
        properties["CurrentDNSServer"] = current.map { entry(0, $0, 0) } ?? entry(0, [], 0)
        let limited = ResolvedReader.servers(properties, uses: [2: .init(isDefault: false)], names: names)
        #expect(limited?.map(\.isForDomainsOnly) == (isFallback ? [true, false] : [true]))
        #expect(ResolvedReader.servers(properties, uses: [2: .init(isDefault: true)], names: names)?.count == 1)
        // Before the first query the current server is not known.
        for isDefault in [false, true] {
            let isUndecided = ResolvedReader.isUndecided(
                properties,
                uses: [2: .init(isDefault: isDefault)],
                names: names
            )
            #expect(isUndecided == (current == nil && !isDefault))
        }
        // What each lookup changes does not call for another one.
        var counted = properties
        counted["TransactionStatistics"] = .list([.unsigned(0), .unsigned(1)])
        #expect(ResolvedReader.Settings(counted, uses: [:]) == ResolvedReader.Settings(properties, uses: [:]))
        properties["FallbackDNSEx"] = .list([])
        #expect(ResolvedReader.Settings(counted, uses: [:]) != ResolvedReader.Settings(properties, uses: [:]))
        #expect(!ResolvedReader.isUndecided(properties, uses: [2: .init(isDefault: false)], names: names))
    }

    @Test(arguments: [[:], ["DNSEx": .text("no")], ["DNS": .unsigned(1)]] as [[String: BusValue]])
    func `knows nothing from nonsense`(properties: [String: BusValue]) {
        #expect(ResolvedReader.servers(properties, names: names) == nil)
    }

    @Test func `leaves out servers it cannot read`() {
        let list: BusValue = .list([.text("no"), .list([]), entry(0, [1, 2, 3], 0), entry(0, [192, 0, 2, 1], 70_000)])
        #expect(ResolvedReader.servers(["DNSEx": list], names: names)?.map(\.description) == ["192.0.2.1"])
    }
}

/// Where the real systemd-resolved is: unpacked into the build directory, or of the machine.
private let program: String? = [
    package + "/.build/resolved/lib/systemd/systemd-resolved", "/usr/lib/systemd/systemd-resolved",
].first { unsafe access($0, X_OK) == 0 }

@Suite(.inNamespace) struct ResolvedProviderTests {
    private let here = Namespace.current
    private let loop = Namespace.current.loop

    @Test(.enabled(if: program != nil, "systemd-resolved is not unpacked"))
    func `asks the real systemd-resolved for the servers behind its stub`() async throws {
        let bus = try PrivateBus()
        try here.ip("link add v0 type veth peer name v1")
        // systemd-resolved uses links that are up and have an address.
        try here.ipBatch(["link set v0 up", "link set v1 up", "address add 192.0.2.2/24 dev v0"])
        let index = try #require(InterfaceNames.kernel.index("v0"))
        let resolved = try RunningCommand([
            "nsenter", "--net=\(here.path)", fixtures + "/resolved.sh", try #require(program), bus.scratch.path,
        ])
        let connection = bus.connect(loop)
        let provider = ResolvedProvider(connection: connection, timing: .quick)
        provider.start()
        await loop.eventually(within: .seconds(15)) { provider.health.state == .active }
        #expect(provider.upstream == [])
        let path = "/org/freedesktop/resolve1"
        try Command.run([
            "busctl", "--address=\(bus.address)", "call", ResolvedReader.name, path, ResolvedReader.interface,
            "SetLinkDNS", "ia(iay)", "\(index)", "1", "2", "4", "192", "0", "2", "53",
        ])
        provider.refresh()
        await loop.eventually { provider.upstream?.map(\.description) == ["192.0.2.53"] }
        #expect(provider.upstream?.first?.interfaceIndex == index)
        #expect(provider.upstream?.first?.isForDomainsOnly == false)
        for isDefault in [false, true] {
            try Command.run([
                "busctl", "--address=\(bus.address)", "call", ResolvedReader.name, path, ResolvedReader.interface,
                "SetLinkDefaultRoute", "ib", "\(index)", "\(isDefault)",
            ])
            provider.refresh()
            await loop.eventually { provider.upstream?.first?.isForDomainsOnly == !isDefault }
        }
        resolved.signal(SIGSTOP)
        await loop.eventually { provider.health.isStale }
        #expect(provider.upstream?.count == 1)
        resolved.signal(SIGCONT)
        await loop.eventually { provider.health.state == .active }
        connection.stop()
    }

    @Test(.enabled(if: program != nil, "systemd-resolved is not unpacked"))
    func `fallback servers count before the first query where systemd-resolved uses them (S35)`() async throws {
        let bus = try PrivateBus()
        let program = try #require(program)
        let words = try Command.run([program, "--version"]).split { $0.isWhitespace }
        let version = try #require(words.dropFirst().first.flatMap { Int($0) })
        try here.ip("link add v0 type veth peer name v1")
        try here.ipBatch(["link set v0 up", "link set v1 up", "address add 192.0.2.2/24 dev v0"])
        let index = try #require(InterfaceNames.kernel.index("v0"))
        let resolved = try RunningCommand([
            "env", "FALLBACK=192.0.2.9", "nsenter", "--net=\(here.path)", fixtures + "/resolved.sh", program,
            bus.scratch.path,
        ])
        let connection = bus.connect(loop)
        let provider = ResolvedProvider(connection: connection, timing: .quick)
        provider.start()
        await loop.eventually(within: .seconds(15)) { provider.health.state == .active }
        #expect(provider.upstream?.map(\.description) == ["192.0.2.9"])
        let manager = [
            "busctl", "--address=\(bus.address)", "call", ResolvedReader.name, ResolvedReader.path,
            ResolvedReader.interface,
        ]
        try Command.run(manager + ["SetLinkDNS", "ia(iay)", "\(index)", "1", "2", "4", "192", "0", "2", "53"])
        // From 257 on; each time the current server is forgotten.
        let limited = version >= 257 ? ["192.0.2.53", "192.0.2.9"] : ["192.0.2.53"]
        for (isDefault, expected) in [(false, limited), (true, ["192.0.2.53"]), (false, limited)] {
            try Command.run(manager + ["SetLinkDefaultRoute", "ib", "\(index)", "\(isDefault)"])
            provider.refresh()
            await loop.eventually("\(expected)") {
                provider.upstream?.map(\.description) == expected
                    && provider.upstream?.first?.isForDomainsOnly == !isDefault
            }
        }
        // A domain of the link that covers the name makes each lookup a transaction, which is no reason for another lookup.
        try Command.run(manager + ["SetLinkDomains", "ia(sb)", "\(index)", "1", "example", "true"])
        provider.refresh()
        let statistics = [
            "busctl", "--address=\(bus.address)", "get-property", ResolvedReader.name, ResolvedReader.path,
            ResolvedReader.interface, "TransactionStatistics",
        ]
        // Those that are under way, then those that were begun.
        let begun = { try Command.run(statistics).split { $0.isWhitespace }.last }
        var counts = [try begun()]
        repeat {
            await loop.sleep(for: .milliseconds(500))
            counts.append(try begun())
        } while counts.last != counts.dropLast().last && counts.count < 20
        #expect(counts.last == counts.dropLast().last)
        connection.stop()
        withExtendedLifetime(resolved) {}
    }
}
