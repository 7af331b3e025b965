// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Testing

@testable import PeerEngine

private let session = "00112233445566778899aabbccddeeff"
private let peer = String(repeating: "a", count: 31) + "b"

/// A frame with this JSON.
private func frame(_ kind: Frame.Kind, _ text: String) -> Frame { Frame(kind: kind, payload: Array(text.utf8)) }

private func member(_ number: Int, name: String = "Ann", addresses: [IPAddress] = []) throws -> ControlMessage.Member {
    ControlMessage.Member(
        key: try key(number),
        name: name,
        session: SessionID(),
        port: UInt16(number),
        addresses: addresses
    )
}

@Suite struct ControlMessageTests {
    private func expectSame(_ message: ControlMessage) throws {
        let frame = message.frame(channel: 7)
        #expect(frame.channel == 7 && frame.flags == 0)
        #expect(try ControlMessage(frame) == message)
        var reader = FrameReader(limit: Frame.maximumPayload)
        reader.append(frame.wire)
        #expect(try reader.next() == frame)
    }

    @Test(
        arguments: [
            .hello(name: "Ann", port: 0, addresses: []),
            .hello(name: String(repeating: "é", count: 31) + "x", port: 65_535, addresses: []),
            .hello(name: "\"\\ 👩‍👩‍👧 {}", port: 1, addresses: []), .accept(session: SessionID()),
            .join(session: SessionID(), from: SessionID()), .members([]), .open(.stream(name: "log")),
            .open(.stream(name: "")), .open(.stream(name: String(repeating: "s", count: 1024))),
            .open(.resource(name: "a/b.txt", size: 0)), .open(.resource(name: "b", size: UInt64(Int64.max))),
            .open(.resource(name: String(repeating: "\u{1}", count: 1024), size: 1)),
            .invite(serviceType: "chat", session: SessionID(), contextLength: 0),
            .invite(serviceType: "a2345-789012345", session: SessionID(), contextLength: Frame.maximumPayload),
        ] as [ControlMessage]
    )
    func `comes back as it was`(message: ControlMessage) throws { try expectSame(message) }

    @Test(arguments: RefusalReason.allCases)
    func `every reason comes back as it was`(reason: RefusalReason) throws {
        try expectSame(.decline(reason))
        try expectSame(.bye(reason))
    }

    @Test func `members come back as they were, as many as there may be`() throws {
        let addresses = try [
            "192.0.2.1", "2001:db8::1", "fe80::1", "0.0.0.0", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fff0",
        ]
        .map { try #require(IPAddress($0)) }
        try expectSame(.members([member(1, addresses: addresses)]))
        let many = (0..<ControlMessage.maximumAddresses).map { IPAddress.v6(.max - UInt128($0)) }
        let name = String(repeating: "\"", count: PeerRules.maximumName)
        let all = try (0..<ControlMessage.maximumMembers).map { try member($0, name: name, addresses: many) }
        try expectSame(.members(all))
        #expect(ControlMessage.members(all).frame().payload.count <= Frame.maximumPayload)
    }

    @Test func `is JSON as it was agreed upon`() throws {
        let hello = ControlMessage.hello(name: "Ann", port: 4711, addresses: []).frame()
        #expect(
            String(decoding: hello.payload, as: UTF8.self) == #"{"version":1,"name":"Ann","port":4711,"addresses":[]}"#
        )
        let id = try #require(SessionID(session))
        let invite = ControlMessage.invite(serviceType: "chat", session: id, contextLength: 9).frame()
        #expect(
            String(decoding: invite.payload, as: UTF8.self)
                == #"{"service_type":"chat","session":"\#(session)","context_length":9}"#
        )
        let bye = ControlMessage.bye(.timedOut).frame()
        #expect(String(decoding: bye.payload, as: UTF8.self) == #"{"reason":"timed_out"}"#)
    }

    @Test func `each message has the kind of its frame`() throws {
        let messages: [(ControlMessage, Frame.Kind)] = [
            (.hello(name: "A", port: 1, addresses: []), .hello), (.accept(session: SessionID()), .accept),
            (.bye(.left), .bye),
            (.invite(serviceType: "chat", session: SessionID(), contextLength: 0), .invite), (.members([]), .members),
            (.join(session: SessionID(), from: SessionID()), .join), (.decline(.full), .decline),
            (.open(.stream(name: "s")), .open),
        ]
        #expect(messages.allSatisfy { $0.0.frame().kind == $0.1 })
    }

    @Test(
        arguments: [
            (
                .hello, #"{"port":1,"name":"Ann","later":[{"any":{}}],"version":1}"#,
                .hello(name: "Ann", port: 1, addresses: [])
            ),
            (
                .hello, " { \"version\" : 1 , \"name\" : \"\\u0041nn\" , \"port\" : 1 }\n",
                .hello(name: "Ann", port: 1, addresses: [])
            ),
            (.bye, #"{"reason":"of a later version"}"#, .bye(.declined)),
            (.decline, #"{"reason":""}"#, .decline(.declined)),
            (.open, #"{"stream":"s","size":-1}"#, .open(.stream(name: "s"))),
        ] as [(Frame.Kind, String, ControlMessage)]
    )
    func `takes what later versions may say, too`(kind: Frame.Kind, text: String, message: ControlMessage) throws {
        #expect(try ControlMessage(frame(kind, text)) == message)
    }

    @Test func `takes digits of either case`() throws {
        let id = try #require(SessionID(session))
        #expect(try ControlMessage(frame(.accept, "{\"session\":\"\(session.uppercased())\"}")) == .accept(session: id))
        let entry =
            "{\"key\":\"\(peer.uppercased())\",\"name\":\"A\",\"session\":\"\(session)\",\"port\":1,\"addresses\":[]}"
        guard case .members(let members) = try ControlMessage(frame(.members, "{\"members\":[\(entry)]}")) else {
            Issue.record("these are no members")
            return
        }
        #expect(members.map(\.key.description) == [peer])
    }
}
