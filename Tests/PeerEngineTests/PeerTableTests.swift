// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
@testable import MulticastDNS
import TestSupport
import Testing

@testable import PeerEngine

/// What a test's peer announces on an interface.
private struct Announced {
    var key: PeerKey
    var name = "Ann"
    var type = "chat"
    var boot = "00000001"
    var info: [String: String] = [:]
    var interface = 1
    var port: UInt16 = 4711
    var addresses = ["192.0.2.1"]
    var seen = 1
    /// When it is not its key's.
    var instance: String?
    /// When it is not what the peer says.
    var text: [TextRecord.Entry]?

    init(_ number: Int) throws { key = try PeerEngineTests.key(number) }

    func with(_ change: (inout Announced) -> Void) -> Announced {
        var copy = self
        change(&copy)
        return copy
    }

    func service() throws -> Service {
        let said = PeerAnnouncement(key: key, name: name, serviceType: type, boot: boot, info: info)
        let label = instance ?? key.instanceName
        return Service(
            instance: try #require(DomainName("\(label)._nwmc._tcp.local")),
            name: label,
            type: PeerAnnouncement.type,
            domain: "local",
            interface: "eth\(interface)",
            interfaceIndex: interface,
            host: "host.local",
            port: port,
            addresses: try addresses.map { ScopedAddress(try #require(IPAddress($0)), scope: "eth\(interface)") },
            text: text ?? TextRecord(entries: said.text).entries,
            rawText: TextRecord(entries: text ?? said.text).strings,
            timeToLive: .seconds(120),
            firstSeen: .seconds(seen),
            lastSeen: .seconds(seen)
        )
    }
}

/// A change as words: what happened, to whom, where it is.
private func words(_ changes: [PeerTable.Change]) -> [String] {
    changes.map { change in
        switch change {
        case .found(let peer): "found \(peer.peer.name) \(place(peer))"
        case .moved(let peer): "moved \(peer.peer.name) \(place(peer))"
        case .lost(let peer): "lost \(peer.name)"
        }
    }
}

private func place(_ peer: FoundPeer) -> String {
    let addresses = peer.addresses.map { $0.scope == 0 ? "\($0.address)" : "\($0.address)%\($0.scope)" }
    return "\(peer.port) \(addresses.joined(separator: " "))"
}

@Suite struct PeerTableTests {
    private var table: PeerTable
    private let ann: Announced

    init() throws {
        table = PeerTable(own: try key(9), serviceType: "chat")
        ann = try Announced(1)
    }

    private mutating func resolved(_ announced: Announced) throws -> [String] {
        words(table.resolved(try announced.service()))
    }

    private mutating func lost(_ announced: Announced) throws -> [String] {
        words(table.lost(try announced.service().id))
    }

    @Test mutating func `a peer is found, and lost`() throws {
        let ann = ann.with { $0.info = ["room": "1"] }
        #expect(try resolved(ann) == ["found Ann 4711 192.0.2.1"])
        let found = try #require(table.peer(ann.key))
        #expect(found.peer.key == ann.key && found.info == ["room": "1"] && found.boot == "00000001")
        #expect(try table.services(of: ann.key) == [ann.service()])
        #expect(try resolved(ann) == [])
        #expect(try lost(ann) == ["lost Ann"])
        #expect(table.peer(ann.key) == nil && table.services(of: ann.key).isEmpty)
        #expect(try lost(ann) == [])
    }

    @Test mutating func `two interfaces are one peer, and it is lost with the last`() throws {
        let other = ann.with { ($0.interface, $0.addresses, $0.seen) = (2, ["198.51.100.1"], 2) }
        #expect(try resolved(ann) == ["found Ann 4711 192.0.2.1"])
        #expect(try resolved(other) == ["moved Ann 4711 192.0.2.1 198.51.100.1"])
        #expect(table.services(of: ann.key).map(\.interfaceIndex) == [1, 2])
        #expect(try lost(ann) == ["moved Ann 4711 198.51.100.1"])
        #expect(try resolved(ann) == ["moved Ann 4711 192.0.2.1 198.51.100.1"])
        #expect(try lost(other) == ["moved Ann 4711 192.0.2.1"])
        #expect(try lost(ann) == ["lost Ann"])
    }

    @Test mutating func `the same addresses on another interface change nothing, and link-local ones are last`() throws
    {
        let first = ann.with { $0.addresses = ["fe80::1", "192.0.2.1", "2001:db8::1"] }
        let second = first.with { $0.interface = 2 }
        #expect(try resolved(first) == ["found Ann 4711 192.0.2.1 2001:db8::1 fe80::1%1"])
        #expect(try resolved(second) == ["moved Ann 4711 192.0.2.1 2001:db8::1 fe80::1%1 fe80::1%2"])
        let third = ann.with { $0.interface = 3 }
        #expect(try resolved(third) == [])
    }

    @Test mutating func `another start is lost and found, once for all interfaces`() throws {
        let other = ann.with { ($0.interface, $0.seen) = (2, 2) }
        #expect(try resolved(ann) == ["found Ann 4711 192.0.2.1"])
        #expect(try resolved(other) == [])
        let again = [ann, other].map { $0.with { ($0.boot, $0.port) = ("00000002", 5000) } }
        // The one that was heard of last tells.
        #expect(try resolved(again[0]) == [])
        #expect(try resolved(again[1]) == ["lost Ann", "found Ann 5000 192.0.2.1"])
        #expect(table.peer(ann.key)?.boot == "00000002")
    }

    @Test mutating func `another start that says goodbye first is lost and found, once`() throws {
        let other = ann.with { ($0.interface, $0.seen) = (2, 2) }
        _ = try resolved(ann) + resolved(other)
        let again = [ann, other].map { $0.with { ($0.boot, $0.seen) = ("00000002", $0.seen + 10) } }
        var changes = try lost(ann) + resolved(again[0])
        changes += try lost(other) + resolved(again[1])
        #expect(changes == ["lost Ann", "found Ann 4711 192.0.2.1"])
    }

    @Test mutating func `another port or address of the same start is no news of the peer`() throws {
        _ = try resolved(ann)
        #expect(try resolved(ann.with { $0.port = 4712 }) == ["moved Ann 4712 192.0.2.1"])
        #expect(try resolved(ann.with { $0.addresses = ["192.0.2.9"] }) == ["moved Ann 4711 192.0.2.9"])
        #expect(table.peer(ann.key).map(place) == "4711 192.0.2.9")
    }

    @Test mutating func `other words are lost and found`() throws {
        _ = try resolved(ann)
        let spoken = ann.with { $0.info = ["room": "2"] }
        #expect(try resolved(spoken) == ["lost Ann", "found Ann 4711 192.0.2.1"])
        #expect(try resolved(spoken.with { $0.name = "Anna" }) == ["lost Ann", "found Anna 4711 192.0.2.1"])
    }

    @Test mutating func `oneself is not found`() throws {
        let own = try Announced(9)
        #expect(try resolved(own) == [])
        #expect(try lost(own) == [])
        #expect(table.peer(own.key) == nil)
    }

    @Test mutating func `peers of another type are not found`() throws {
        let other = ann.with { $0.type = "game" }
        #expect(try resolved(other) == [])
        #expect(try resolved(ann) == ["found Ann 4711 192.0.2.1"])
        #expect(try resolved(other) == ["lost Ann"])
        #expect(try lost(other) == [])
    }

    @Test mutating func `two with the same name are two peers`() throws {
        let other = try Announced(2)
        #expect(try resolved(ann) == ["found Ann 4711 192.0.2.1"])
        #expect(try resolved(other.with { $0.addresses = ["192.0.2.2"] }) == ["found Ann 4711 192.0.2.2"])
        #expect(try lost(ann) == ["lost Ann"])
        #expect(table.peer(ann.key) == nil && table.peer(other.key) != nil)
    }

    @Test mutating func `a service that is somebody else now is another peer`() throws {
        let other = try Announced(2).with { ($0.name, $0.instance) = ("Bob", ann.key.instanceName) }
        _ = try resolved(ann)
        #expect(try resolved(other) == ["lost Ann", "found Bob 4711 192.0.2.1"])
        #expect(try resolved(ann) == ["found Ann 4711 192.0.2.1", "lost Bob"])
    }

    @Test mutating func `of two services of a peer the one that began last counts`() throws {
        let old = ann.with { ($0.port, $0.boot) = (1, "0") }
        let new = ann.with { ($0.port, $0.boot, $0.seen, $0.instance) = (2, "1", 5, "other") }
        _ = try resolved(old)
        #expect(try resolved(new) == ["lost Ann", "found Ann 2 192.0.2.1"])
        // What is left of the former one runs out.
        #expect(try lost(old) == [])
        #expect(try lost(new) == ["lost Ann"])
    }

    @Test mutating func `an address is told with the port that it belongs to only`() throws {
        let old = ann.with { ($0.port, $0.addresses) = (1, ["192.0.2.7"]) }
        let new = ann.with { ($0.port, $0.seen, $0.interface) = (2, 5, 2) }
        _ = try resolved(old)
        #expect(try resolved(new) == ["moved Ann 2 192.0.2.1"])
    }

    @Test(
        arguments: [
            [], [("v", "1")], [("v", "1"), ("dn", "A"), ("st", "chat"), ("fp", "x")],
            [("v", "1"), ("dn", "A"), ("st", "chat"), ("fp", String(repeating: "\u{12}", count: 32))],
            [("v", "1"), ("dn", "A\n"), ("st", "chat"), ("fp", String(repeating: "b", count: 32))],
            [("v", "9"), ("dn", "A"), ("st", "chat"), ("fp", String(repeating: "b", count: 32))],
            [
                ("v", "1"), ("dn", String(repeating: "x", count: 64)), ("st", "chat"),
                ("fp", String(repeating: "b", count: 32)),
            ],
        ] as [[(String, String)]]
    )
    mutating func `what is no peer's is not found, and is the end of one that it was`(pairs: [(String, String)]) throws
    {
        let text = pairs.map { TextRecord.Entry(key: $0.0, value: Array($0.1.utf8)) }
        let hostile = ann.with { $0.text = text }
        #expect(try resolved(hostile) == [])
        #expect(try lost(hostile) == [])
        _ = try resolved(ann)
        #expect(try resolved(hostile) == ["lost Ann"])
        #expect(try resolved(ann) == ["found Ann 4711 192.0.2.1"])
    }

    @Test mutating func `whatever happens, each peer is found and lost in turn`() throws {
        var random = SeededRandom(seed: 6762)
        var there: Set<PeerKey> = []
        for step in 0..<3000 {
            let number = Int.random(in: 1...3, using: &random)
            let announced = try Announced(number).with {
                $0.interface = Int.random(in: 1...3, using: &random)
                $0.boot = "\(Int.random(in: 0...1, using: &random))"
                $0.port = UInt16.random(in: 1...2, using: &random)
                $0.type = Int.random(in: 0...5, using: &random) == 0 ? "game" : "chat"
                $0.seen = step
                $0.instance = "i\(Int.random(in: 1...3, using: &random))"
            }
            let isLost = Int.random(in: 0...2, using: &random) == 0
            let changes = try isLost ? table.lost(announced.service().id) : table.resolved(announced.service())
            for change in changes {
                switch change {
                case .found(let peer): #expect(there.insert(peer.peer.key).inserted)
                case .moved(let peer): #expect(there.contains(peer.peer.key))
                case .lost(let peer): #expect(there.remove(peer.key) != nil)
                }
            }
            for number in 1...3 {
                let key = try key(number)
                #expect((table.peer(key) != nil) == there.contains(key))
                #expect(table.services(of: key).isEmpty != there.contains(key))
            }
        }
    }
}
