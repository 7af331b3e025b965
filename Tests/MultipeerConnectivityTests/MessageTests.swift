// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
import LinuxIO
import MultipeerConnectivity
import TestSupport
import Testing

/// Messages between two peers on one bridge, in good and in bad weather.
@Suite(.inNamespace) struct MessageTests {
    private let loop = Namespace.current.loop
    private let hosts: Hosts

    init() throws { hosts = try Hosts(2) }

    private func pair() async -> (ada: TestPeer, bob: TestPeer) {
        let ada = await TestPeer.make("Ada", in: hosts[0])
        let bob = await TestPeer.make("Bob", in: hosts[1])
        ada.advertiser.startAdvertisingPeer()
        bob.browser.startBrowsingForPeers()
        await loop.eventually("found") { bob.names == ["Ada"] }
        bob.invite("Ada")
        await loop.eventually("connected", found: bob.story) { bob.connected == ["Ada"] && ada.connected == ["Bob"] }
        return (ada, bob)
    }

    /// A message whose bytes all tell its number, so that one made of two is seen.
    private func message(_ number: Int, count: Int) -> Data {
        var data = Data(count: count)
        for place in stride(from: 0, to: count - 3, by: 4) {
            for byte in 0..<4 { data[place + byte] = UInt8(truncatingIfNeeded: number >> (8 * byte)) }
        }
        return data
    }

    /// How many datagrams a host has sent.
    private func datagrams(of host: Namespace) throws -> Int {
        let lines = try host.run("cat /proc/net/snmp").split(separator: "\n").filter { $0.hasPrefix("Udp:") }
        let values = lines.last?.split(separator: " ").dropFirst().compactMap { Int($0) } ?? []
        return values.count > 3 ? values[3] : 0
    }

    @Test func `ten thousand each way arrive in order, of all lengths`() async throws {
        let (ada, bob) = await pair()
        let lengths = [0, 1, 100, 1024, 2000]
        for number in 0..<10_000 {
            try ada.session.send(message(number, count: lengths[number % 5]), toPeers: [bob.id], with: .reliable)
            try bob.session.send(message(number, count: lengths[(number + 1) % 5]), toPeers: [ada.id], with: .reliable)
            // A program that sends faster than the network takes gets an error: this one waits.
            if number % 500 == 499 {
                await loop.eventually("taken") {
                    ada.read { $0.messages.count } > number - 100 && bob.read { $0.messages.count } > number - 100
                }
            }
        }
        await loop.eventually("all") {
            ada.read { $0.messages.count } == 10_000 && bob.read { $0.messages.count } == 10_000
        }
        for (peer, shift) in [(bob, 0), (ada, 1)] {
            let isRight = peer.read { record in
                record.messages.enumerated().allSatisfy { place, entry in
                    entry.text == message(place, count: lengths[(place + shift) % 5])
                }
            }
            #expect(isRight)
        }
    }

    @Test func `a message of 4 MiB arrives, and one of 17 does not go`() async throws {
        let (ada, bob) = await pair()
        let big = Data(repeating: 7, count: 4 << 20)
        try bob.session.send(big, toPeers: [ada.id], with: .reliable)
        await loop.eventually("the big one") { ada.read { $0.messages.first?.text } == big }
        for mode in [MCSessionSendDataMode.reliable, .unreliable] {
            let error = #expect(throws: MCError.self) {
                try bob.session.send(Data(count: 17 << 20), toPeers: [ada.id], with: mode)
            }
            #expect(error?.code == .invalidParameter)
        }
    }

    @Test func `what cannot be sent is an error, and nobody gets it`() async throws {
        let (ada, bob) = await pair()
        let stranger = MCPeerID(displayName: "Nobody")
        for (peers, code) in [([], MCError.Code.invalidParameter), ([ada.id, stranger], .notConnected)] {
            let error = #expect(throws: MCError.self) { try bob.send("x", to: peers) }
            #expect(error?.code == code)
        }
        try bob.send("y", to: [ada.id])
        await loop.eventually("the other one") { ada.texts == ["y"] }
    }

    @Test func `a receiver that takes nothing costs its sender 16 MiB and an error`() async throws {
        let (ada, bob) = await pair()
        ada.setDelay(0.5)
        let message = Data(repeating: 1, count: 64 << 10)
        var sent = 0
        var code: MCError.Code?
        while code == nil, sent < 1000 {
            do {
                try bob.session.send(message, toPeers: [ada.id], with: .reliable)
                sent += 1
            } catch {
                code = (error as? MCError)?.code
            }
        }
        #expect(code == .unavailable)
        #expect((250...300).contains(sent), "\(sent) of 64 KiB")
        ada.setDelay(0)
        await loop.eventually("all that was taken") { ada.read { $0.messages.count } == sent }
        try bob.send("again", to: [ada.id])
        await loop.eventually("and more") { ada.texts.last == "again" }
    }

    @Test func `messages that may be lost go by datagrams, each once and as it is`() async throws {
        let (ada, bob) = await pair()
        try bob.send("first", to: [ada.id], .unreliable)
        await loop.eventually("the first") { ada.texts == ["first"] }
        // The way by datagrams is known by now, or at the next question.
        try await loop.eventually("datagrams go") {
            let before = try datagrams(of: hosts[1])
            try bob.send("probe", to: [ada.id], .unreliable)
            return try datagrams(of: hosts[1]) > before
        }
        let rule =
            "add table inet t; add chain inet t o { type filter hook output priority 0; }; add rule inet t o "
            + "meta l4proto udp numgen random mod 100 < 20 drop"
        try hosts[1].run(["nft", rule])
        let before = ada.read { $0.messages.count { $0.text.count >= 8 } }
        for number in 0..<2_000 {
            let count = [8, 400, 1_000, 5_000][number % 4]
            try bob.session.send(message(number, count: count), toPeers: [ada.id], with: .unreliable)
            // What is sent faster than it goes is lost before it was sent: this program waits now and then.
            guard number % 50 == 49 else { continue }
            let mark = Data("mark \(number)".utf8)
            try bob.session.send(mark, toPeers: [ada.id], with: .reliable)
            await loop.eventually("a mark") { ada.read { $0.messages.suffix(60).contains { $0.text == mark } } }
        }
        try bob.send("the end", to: [ada.id])
        await loop.eventually("the end") { ada.texts.contains("the end") }
        let numbers = ada.read { record in
            let texts = record.messages.dropFirst(before).map(\.text)
            return texts.filter { $0.count >= 8 && !$0.starts(with: Data("mark ".utf8)) }.map { data in
                let number = data.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
                return data == message(number, count: [8, 400, 1_000, 5_000][number % 4]) ? number : -1
            }
        }
        #expect(!numbers.contains(-1), "one is made of two, or of a part")
        #expect(Set(numbers).count == numbers.count, "one came twice")
        #expect((200..<1_950).contains(numbers.count), "\(numbers.count) of 2000 with a loss of a fifth")
    }

    @Test func `where datagrams do not get through the latest one comes by the connection`() async throws {
        let rule =
            "add table inet t; add chain inet t o { type filter hook output priority 0; }; add rule inet t o "
            + "udp dport != 5353 drop"
        for host in hosts.all { try host.run(["nft", rule]) }
        let (ada, bob) = await pair()
        for number in 0..<100 { try bob.send("\(number)", to: [ada.id], .unreliable) }
        await loop.eventually("the latest", found: ada.texts) { ada.texts.last == "99" }
        let numbers = ada.texts.compactMap { Int($0) }
        #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count)
        try bob.session.send(Data(count: 1 << 20), toPeers: [ada.id], with: .unreliable)
        await loop.eventually("a long one") { ada.read { $0.messages.last?.text.count } == 1 << 20 }
    }
}
