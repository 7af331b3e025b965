// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import Testing

@testable import MulticastDNS

private func proposal(_ index: Int, text: [String] = ["a=1"]) -> ProbeWriter.Proposal {
    let service = MadeUpService(name: "Service \(index)", text: text)
    return .init(name: service.instance, records: [service.location, service.textRecord])
}

private func messages(_ packets: [[UInt8]]) -> [Message] { packets.compactMap { try? Message(parsing: $0.span) } }

@Suite struct ProbeWriterTests {
    @Test(arguments: [true, false])
    func `P3: asks for any type, by unicast if that would reach us`(wantsUnicast: Bool) throws {
        let packets = ProbeWriter.packets([proposal(1)], wantsUnicast: wantsUnicast, limit: 1472)
        let message = try #require(messages(packets).first)
        #expect(message.questions == [Question(proposal(1).name, .any, wantsUnicast: wantsUnicast)])
        #expect(message.id == 0 && message.flags == [] && message.answers.isEmpty && message.additionals.isEmpty)
    }

    @Test func `P4: proposes all records in the authority section, without the cache-flush bit`() throws {
        let packets = ProbeWriter.packets([proposal(1)], wantsUnicast: false, limit: 1472)
        let message = try #require(messages(packets).first)
        #expect(message.authorities.map(\.data) == proposal(1).records.map(\.data))
        #expect(message.authorities.map(\.timeToLive) == [120, 4500])
        #expect(message.authorities.allSatisfy { !$0.flushesCache })
    }

    @Test(arguments: [1, 5, 100])
    func `P3, F6: several names share a message as far as it reaches`(count: Int) {
        let packets = ProbeWriter.packets((0..<count).map { proposal($0) }, wantsUnicast: true, limit: 1472)
        let read = messages(packets)
        #expect(packets.allSatisfy { $0.count <= 1472 } && packets.dropLast().allSatisfy { $0.count > 1300 })
        #expect(read.flatMap(\.questions).count == count && read.flatMap(\.authorities).count == 2 * count)
        // The records of a name are where its question is.
        for message in read {
            #expect(Set(message.questions.map(\.name)) == Set(message.authorities.map(\.name)))
        }
    }

    @Test func `F6: a name whose records are too long for a packet goes alone in a longer one`() {
        let text = (0..<8).map { "k\($0)=" + String(repeating: "x", count: 200) }
        let proposals = [proposal(1), proposal(2, text: text), proposal(3)]
        let packets = ProbeWriter.packets(proposals, wantsUnicast: false, limit: 1472)
        #expect(packets.count == 3 && packets.count { $0.count > 1472 } == 1)
        #expect(messages(packets).flatMap(\.questions).count == 3)
    }
}
