// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import Netlink
import PathModel
import TestSupport
import Testing

@testable import Providers

/// What the ethtool family says, and what it never should.
@Suite struct WiredMessageTests {
    private static func attribute(_ kind: Int, _ value: [UInt8]) -> [UInt8] {
        var question = Question(type: 0, flags: 0, body: [])
        question.add(kind, value)
        return question.body
    }

    /// An answer about the interface 7, as the kernel writes it.
    private static func answer(_ attributes: [UInt8], command: UInt8 = 4, index: UInt8 = 7) -> [UInt8] {
        let header = attribute(1 | 0x8000, attribute(1, [index, 0, 0, 0]) + attribute(2, Array("eth0".utf8) + [0]))
        // Autonegotiation, and the modes as a compact bit set.
        let modes = attribute(2, [1]) + attribute(3 | 0x8000, attribute(2, [92, 0, 0, 0]) + attribute(4, [0, 0]))
        let body = [command, 1, 0, 0] + header + modes + attributes
        return Question(type: 22, flags: 0, body: body).message(sequence: 3)
    }

    private static func cable(_ speed: [UInt8], _ duplex: [UInt8]) -> [UInt8] {
        attribute(5, speed) + attribute(6, duplex)
    }

    private func facts(_ bytes: [UInt8]) -> WiredFacts? {
        GenericMessage.parse(bytes[...]).first.flatMap { WiredMessage.facts($0, about: 7) }
    }

    @Test(
        arguments: [
            ([0xE8, 3, 0, 0], [1], WiredFacts(megabits: 1000, isFullDuplex: true)),
            ([10, 0, 0, 0], [0], WiredFacts(megabits: 10, isFullDuplex: false)),
            ([0x80, 0x1A, 6, 0], [1], WiredFacts(megabits: 400_000, isFullDuplex: true)),
            // Unknown: a cable without a link, or a virtual card.
            ([255, 255, 255, 255], [1], nil), ([255, 255, 255, 255], [255], nil), ([0xE8, 3, 0, 0], [255], nil),
            // Nothing a card could mean.
            ([0, 0, 0, 0], [1], nil), ([0, 0, 0, 0x80], [1], nil), ([0xE8, 3, 0, 0], [2], nil),
            ([0xE8, 3], [1], nil), ([0xE8, 3, 0, 0, 0], [1], nil), ([], [1], nil), ([0xE8, 3, 0, 0], [], nil),
            ([0xE8, 3, 0, 0], [1, 0], nil),
        ] as [([UInt8], [UInt8], WiredFacts?)]
    )
    func `speed and duplex count when both are known`(speed: [UInt8], duplex: [UInt8], expected: WiredFacts?) {
        #expect(facts(Self.answer(Self.cable(speed, duplex))) == expected)
    }

    /// A card that offers all speeds up to 1000 Mbit/s, half duplex too, and 2500, at 100 Mbit/s.
    private static func negotiated(_ other: [UInt8], autonegotiation: UInt8 = 1) -> [UInt8] {
        let own: [UInt8] = [0x3F, 0, 0, 0, 0, 0x80, 0, 0]
        let header = attribute(1 | 0x8000, attribute(1, [7, 0, 0, 0]))
        func modes(_ kind: Int, _ value: [UInt8]) -> [UInt8] {
            attribute(kind | 0x8000, attribute(1, []) + attribute(2, [92, 0, 0, 0]) + attribute(4, value))
        }
        let body = [4, 1, 0, 0] + header + attribute(2, [autonegotiation]) + modes(3, own) + modes(4, other)
        return Question(type: 22, flags: 0, body: body + cable([100, 0, 0, 0], [1])).message(sequence: 3)
    }

    @Test(
        arguments: [
            ([0x3F, 0, 0, 0, 0, 0x80, 0, 0], 2500), ([0x3F, 0, 0, 0], 1000), ([0x0F, 0, 0, 0, 0, 0x80, 1, 0], 2500),
            // Half duplex alone, fibre alone, nothing, and less than a word.
            ([0x15, 0, 0, 0], nil), ([0, 0, 0, 2, 0, 0, 0, 0], nil), ([], nil), ([0x3F], nil),
        ] as [([UInt8], Int?)]
    )
    func `what both ends of a copper cable offer`(other: [UInt8], offered: Int?) {
        let facts = facts(Self.negotiated(other))
        #expect(facts == WiredFacts(megabits: 100, isFullDuplex: true, isNegotiated: true, offered: offered))
        // Set by hand, it is nobody's fault.
        #expect(self.facts(Self.negotiated(other, autonegotiation: 0))?.offered == nil)
        #expect(self.facts(Self.negotiated(other, autonegotiation: 0))?.isNegotiated == false)
    }

    @Test func `what is missing, or about something else, tells nothing`() {
        let gigabit = Self.cable([0xE8, 3, 0, 0], [1])
        #expect(facts(Self.answer(gigabit)) != nil)
        #expect(facts(Self.answer(gigabit, index: 8)) == nil)
        #expect(facts(Self.answer(gigabit, command: 5)) == nil)
        #expect(facts(Self.answer(Self.attribute(5, [0xE8, 3, 0, 0]))) == nil)
        #expect(facts(Self.answer(Self.attribute(6, [1]))) == nil)
        let bare = Question(type: 22, flags: 0, body: [4, 1, 0, 0] + gigabit).message(sequence: 3)
        #expect(facts(bare) == nil)
    }

    @Test func `no cut and no changed byte makes a speed that was not told`() {
        let whole = Self.answer(Self.cable([0xE8, 3, 0, 0], [1]))
        for length in whole.indices {
            #expect(facts(Array(whole[..<length])) == nil)
            // The same with a length that fits.
            var cut = Array(whole[..<length])
            guard length >= 4 else { continue }
            cut.replaceSubrange(0..<4, with: [UInt8(length), 0, 0, 0])
            #expect(facts(cut) == nil || length > whole.count - 4)
        }
        for place in whole.indices where !(whole.count - 16..<whole.count).contains(place) {
            for byte in [0, 1, 3, 4, 5, 6, 127, 255] as [UInt8] {
                var changed = whole
                changed[place] = byte
                let facts = facts(changed)
                #expect(facts == nil || facts?.megabits == 1000 && facts?.isFullDuplex == true)
            }
        }
    }

    @Test func `the question names one interface and asks for short answers`() {
        #expect(
            WiredMessage.question(about: 7, family: 22).message(sequence: 9) == [
                40, 0, 0, 0, 22, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0,
                20, 0, 1, 0x80, 8, 0, 1, 0, 7, 0, 0, 0, 8, 0, 3, 0, 1, 0, 0, 0,
            ]
        )
    }
}

/// The provider against the running kernel.
@Suite(.inNamespace) struct WiredProviderTests {
    private let namespace = Namespace.current
    private let loop = Namespace.current.loop

    /// What the provider is to ask about; changed while it runs.
    private final class Links {
        var now = WiredLinks()
    }

    private let links = Links()

    private func provider(_ family: String = "ethtool") -> WiredProvider {
        WiredProvider(loop: loop, links: { [links] in links.now }, familyName: family)
    }

    private func index(_ name: String) throws -> Int { try #require(InterfaceNames.kernel.index(name)) }

    private static let veth = WiredFacts(megabits: 10_000, isFullDuplex: true, isNegotiated: false)

    @Test func `a pair tells its speed, and one that is gone or tells none is unknown (S39)`() async throws {
        try namespace.ipBatch(["link add v0 type veth peer name v1", "link add b0 type bridge"])
        let (pair, bridge) = (try index("v0"), try index("b0"))
        links.now.usable = [1, bridge, 4711, -1, pair]
        let provider = provider()
        provider.start()
        #expect(provider.interfaces == [pair: Self.veth])
        #expect(provider.health == ProviderHealth(state: .active))
        // Once more changes nothing, and so nobody is told.
        var changes = 0
        provider.onChange = { changes += 1 }
        provider.refresh()
        #expect(changes == 0)
        provider.stop()
    }

    @Test func `a speed that is set by hand is heard (S39)`() async throws {
        try namespace.ip("tuntap add t0 mode tap")
        let index = try index("t0")
        links.now.usable = [index]
        let provider = provider()
        var changes = 0
        provider.onChange = { changes += 1 }
        provider.start()
        #expect(provider.interfaces[index]?.isFullDuplex == true)
        try namespace.run("ethtool -s t0 speed 10 duplex half")
        let slow = WiredFacts(megabits: 10, isFullDuplex: false, isNegotiated: false)
        await loop.eventually { provider.interfaces == [index: slow] }
        #expect(changes == 2)
        // What nobody set is no reason to ask.
        try namespace.run("ethtool -K t0 tso off")
        try namespace.run("ethtool -s t0 speed 1000 duplex full")
        await loop.eventually { provider.interfaces[index]?.megabits == 1000 }
        #expect(changes == 3)
        provider.stop()
        try namespace.run("ethtool -s t0 speed 100 duplex full")
        await loop.sleep(for: .milliseconds(100))
        #expect(provider.interfaces[index]?.megabits == 1000 && changes == 3)
    }

    @Test func `a cable that is out keeps what it told, one that left does not`() async throws {
        try namespace.ip("link add v0 type veth peer name v1")
        let (near, far) = (try index("v0"), try index("v1"))
        links.now.usable = [near, far]
        let provider = provider()
        provider.start()
        #expect(provider.interfaces == [near: Self.veth, far: Self.veth])
        links.now = WiredLinks(idle: [near])
        provider.refresh()
        #expect(provider.interfaces == [near: Self.veth])
        // An idle one that never told anything is not asked.
        links.now = WiredLinks(idle: [near, far])
        provider.refresh()
        #expect(provider.interfaces == [near: Self.veth])
        links.now = WiredLinks()
        provider.refresh()
        #expect(provider.interfaces.isEmpty)
        links.now.usable = [near]
        try namespace.ip("link del v0")
        provider.refresh()
        #expect(provider.interfaces.isEmpty && provider.health == ProviderHealth(state: .active))
        provider.stop()
    }

    @Test func `a kernel without the family is absent, and never asked (S51)`() async throws {
        links.now.usable = [1]
        let provider = provider("nwpath-none")
        var changes = 0
        provider.onChange = { changes += 1 }
        provider.start()
        provider.refresh()
        #expect(provider.health == ProviderHealth(state: .absent) && provider.interfaces.isEmpty && changes == 0)
        provider.stop()
    }

    @Test func `a family that knows no such question makes interfaces unknown, and no problem (S51)`() async throws {
        // Every kernel has this family, which knows nothing of the command.
        links.now.usable = [1]
        let provider = provider("nlctrl")
        provider.start()
        #expect(provider.health == ProviderHealth(state: .active) && provider.interfaces.isEmpty)
        provider.stop()
    }

    @Test func `it may be started, stopped and asked in any order`() async throws {
        try namespace.ip("link add v0 type veth peer name v1")
        let index = try index("v0")
        links.now.usable = [index]
        let provider = provider()
        provider.stop()
        provider.refresh()
        #expect(provider.interfaces.isEmpty)
        for _ in 0..<3 {
            provider.start()
            provider.start()
            #expect(provider.interfaces == [index: Self.veth])
            provider.stop()
            provider.stop()
        }
    }

    @Test func `what another process sends is no answer of the kernel's (S8)`() async throws {
        var socket = try GenericSocket()
        // struct sockaddr_nl: the family, padding, the port.
        var (address, length) = ([UInt8](repeating: 0, count: 16), socklen_t(16))
        let code = unsafe address.withUnsafeMutableBytes { buffer in
            guard let start = unsafe buffer.bindMemory(to: sockaddr.self).baseAddress else { return Int32(-1) }
            return unsafe getsockname(socket.descriptor, start, &length)
        }
        let port = address.span.extracting(4..<8)
        let number = (0..<4).reduce(0) { $0 | Int(port[$1]) << (8 * $1) }
        #expect(code == 0 && number > 0)
        let script = "import socket; s = socket.socket(16, 3, 16); s.sendto(bytes(64), (\(number), 0))"
        try namespace.run(["python3", "-c", script])
        try socket.send(Question(family: 16, command: 3, isDump: true))
        let answer = try socket.receive()
        let bytes = try #require(answer)
        #expect(GenericMessage.parse(bytes).contains { $0.familyName == "nlctrl" })
    }
}

/// The provider among the others.
@Suite(.inNamespace) struct WiredSetTests {
    private let loop = Namespace.current.loop

    private func set(_ enabled: Set<ProviderSet.Name>, _ links: @escaping () -> WiredLinks) throws -> ProviderSet {
        var options = ProviderSet.Options()
        options.enabled = enabled
        return ProviderSet(loop: loop, options: options, localServers: { _, _ in LocalServerFacts() }, wired: links)
    }

    @Test func `facts of cables are there at once when they are asked for`() async throws {
        try Namespace.current.ip("link add v0 type veth peer name v1")
        let index = try #require(InterfaceNames.kernel.index("v0"))
        var links = WiredLinks()
        let set = try set([.ethtool]) { links }
        var told: [String] = []
        set.onChange = { told.append($1) }
        set.measureWires()
        set.start()
        #expect(set.facts.wired.isEmpty && set.health[.ethtool]?.state == .active)
        links.usable = [index]
        set.measureWires()
        #expect(set.facts.wired[index]?.megabits == 10_000)
        // A later question is told as a change.
        links.usable = []
        set.refresh()
        await loop.eventually { set.facts.wired.isEmpty }
        #expect(told == ["ethtool"] || told == ["resolv.conf"])
        set.stop()
    }

    @Test func `the operator may leave it out`() throws {
        try Namespace.current.ip("link add v0 type veth peer name v1")
        let index = try #require(InterfaceNames.kernel.index("v0"))
        let set = try set([]) { WiredLinks(usable: [index]) }
        set.start()
        set.measureWires()
        #expect(set.facts.wired.isEmpty && set.health[.ethtool]?.state == .disabled)
        set.stop()
    }
}
