// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

@testable import MulticastDNS

private func service(_ index: Int, text: [String] = ["a=1"]) -> MadeUpService {
    MadeUpService(name: "Service \(index)", text: text)
}

private func group(_ service: MadeUpService) -> AnswerWriter.Group {
    .init(answers: [service.pointer], additionals: [service.location, service.textRecord])
}

private func messages(_ packets: [[UInt8]]) -> [Message] { packets.compactMap { try? Message(parsing: $0.span) } }

@Suite struct AnswerWriterTests {
    @Test func `F1, F3, F4: a response has id 0, is authoritative and nothing else, and asks nothing`() throws {
        let packets = AnswerWriter.packets([group(service(1))], limit: 1472)
        let message = try #require(messages(packets).first)
        #expect(packets.count == 1 && message.id == 0 && message.flags.rawValue == 0x8400)
        #expect(message.questions.isEmpty && message.authorities.isEmpty)
        #expect(message.answers.map(\.type) == [.ptr] && message.additionals.map(\.type) == [.srv, .txt])
    }

    @Test func `F1: an answer by unicast repeats the id`() throws {
        let message = try #require(messages(AnswerWriter.packets([group(service(1))], id: 77, limit: 1472)).first)
        #expect(message.id == 77)
    }

    @Test(arguments: [512, 1232, 1472, 8952])
    func `F6: packets fit, none is left out, and what belongs together stays together`(limit: Int) {
        let services = (0..<60).map { service($0) }
        let packets = AnswerWriter.packets(services.map(group), limit: limit)
        let read = messages(packets)
        #expect(packets.allSatisfy { $0.count <= limit } && read.count == packets.count)
        #expect(read.flatMap(\.answers).count == 60)
        for message in read {
            let instances = message.answers.compactMap { record -> DomainName? in
                guard case .pointer(let name) = record.data else { return nil }
                return name
            }
            #expect(message.additionals.filter { $0.type == .srv }.map(\.name) == instances)
        }
    }

    @Test func `F6: packets are filled`() {
        let packets = AnswerWriter.packets((0..<60).map { group(service($0)) }, limit: 1472)
        #expect(packets.dropLast().allSatisfy { $0.count > 1300 })
    }

    @Test func `F5: names are compressed, those in SRV records too`() throws {
        let lamp = MadeUpService()
        let bytes = try #require(AnswerWriter.packets([group(lamp)], limit: 1472).first)
        let locals = bytes.indices.count { bytes[$0...].starts(with: Array("local".utf8)) }
        #expect(locals == 1)
    }

    @Test func `F6: a record that no packet can hold goes alone in a longer one`() throws {
        let long = service(1, text: (0..<8).map { "k\($0)=" + String(repeating: "x", count: 200) })
        let groups = [group(service(0)), AnswerWriter.Group(answers: [long.textRecord]), group(service(2))]
        let packets = AnswerWriter.packets(groups, limit: 1472)
        let lengths = packets.map(\.count)
        #expect(packets.count == 3 && lengths[0] <= 1472 && lengths[1] > 1472 && lengths[2] <= 1472)
        #expect(messages(packets)[1].answers.map(\.type) == [.txt] && messages(packets)[1].additionals.isEmpty)
    }

    @Test func `F6: what does not even fit into the longest message is not sent`() {
        let record = ResourceRecord(DomainName(), .txt, .opaque(.init(repeating: 0, count: 9000)), timeToLive: 1)
        #expect(AnswerWriter.packets([.init(answers: [record])], limit: 1472).isEmpty)
    }

    @Test func `A19: the records of one name and type that need two packets follow each other`() {
        let host = MadeUpService().hostName
        let addresses = (0..<60).map { index in
            ResourceRecord(host, .a, .address(.v4(index)), timeToLive: 120, flushesCache: true)
        }
        let packets = AnswerWriter.packets([.init(answers: addresses), group(service(1))], limit: 512)
        let types = messages(packets).map { Set($0.answers.map(\.type)) }
        #expect(types == [[.a], [.a], [.ptr]])
        #expect(messages(packets).flatMap(\.answers).count { $0.flushesCache } == 60)
    }

    @Test func `records that come along never go alone`() {
        let host = MadeUpService().hostName
        let many = (0..<100).map { ResourceRecord(host, .a, .address(.v4($0)), timeToLive: 120) }
        let tooLong = ResourceRecord(host, .txt, .opaque(.init(repeating: 0, count: 9000)), timeToLive: 1)
        let packets = AnswerWriter.packets([.init(answers: [tooLong], additionals: many)], limit: 512)
        #expect(messages(packets).allSatisfy { !$0.answers.isEmpty })
    }

    @Test func `additional records that do not fit beside one answer are left out`() throws {
        let host = MadeUpService().hostName
        let many = (0..<100).map { ResourceRecord(host, .a, .address(.v4($0)), timeToLive: 120) }
        let packets = AnswerWriter.packets([.init(answers: [service(1).pointer], additionals: many)], limit: 512)
        let message = try #require(messages(packets).first)
        #expect(packets.count == 1 && message.answers.count == 1 && message.additionals.count > 20)
    }
}

@Suite struct LegacyAnswerTests {
    private let lamp = MadeUpService()

    private func answer(_ limit: Int = 1232) throws -> (bytes: [UInt8], message: Message) {
        var asker = Asker(address: .v4(9), port: 40000, id: 4711, isLegacy: true)
        asker.questions = [Question(lamp.typeName, .ptr, wantsUnicast: true)]
        asker.limit = limit
        let bytes = AnswerWriter.legacyPacket([group(lamp)], to: asker, limit: 1472)
        return (bytes, try Message(parsing: bytes.span))
    }

    @Test func `A15: repeats id and question`() throws {
        let message = try answer().message
        #expect(message.id == 4711 && message.questions == [Question(lamp.typeName, .ptr)])
        #expect(message.flags == [.response, .authoritative])
    }

    @Test func `A15: has no cache-flush bit and no lifetime above ten seconds`() throws {
        let message = try answer().message
        let records = message.answers + message.additionals
        #expect(records.count == 3 && records.allSatisfy { !$0.flushesCache && $0.timeToLive <= 10 })
    }

    @Test func `A15: does not compress the targets of SRV records`() throws {
        let (bytes, _) = try answer()
        let target: [UInt8] = [4] + Array("lamp".utf8) + [5] + Array("local".utf8) + [0]
        #expect(bytes.indices.contains { bytes[$0...].starts(with: target) })
    }

    @Test(arguments: [(0, 512), (512, 512), (1232, 1232), (65535, 1472)])
    func `is as long as the resolver takes`(taken: Int, limit: Int) throws {
        var asker = Asker(address: .v4(9), port: 40000, id: 1, isLegacy: true)
        asker.limit = taken
        let groups = (0..<100).map { group(service($0)) }
        let bytes = AnswerWriter.legacyPacket(groups, to: asker, limit: 1472)
        #expect(bytes.count <= limit && bytes.count > limit - 100)
    }
}
