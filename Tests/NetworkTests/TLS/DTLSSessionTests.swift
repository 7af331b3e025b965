// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
@testable import Network
import Testing

/// Two ends of DTLS in memory, without a socket.
@Suite struct DTLSSessionTests {
    private let certificates: Certificates

    init() throws { certificates = try Certificates.shared.get() }

    private func client(_ name: String = "localhost", longest: Int32 = 1232) throws -> TLSSession {
        var values = certificates.clientOptions().securityProtocolOptions.values
        values.identity = try certificates.identity(.client)
        return try TLSSession(values, peerName: name, isServer: false, longestDatagram: longest)
    }

    private func server(longest: Int32 = 1232, requiresClient: Bool = false) throws -> TLSSession {
        var values = try certificates.serverOptions().securityProtocolOptions.values
        (values.requiresClient, values.authorities) = (requiresClient, certificates.authority)
        return try TLSSession(values, peerName: nil, isServer: true, longestDatagram: longest)
    }

    /// All datagrams that wait.
    private func datagrams(_ session: borrowing TLSSession) -> [Data] {
        var found: [Data] = []
        while case let datagram = session.drainOutput(), !datagram.isEmpty { found.append(datagram) }
        return found
    }

    /// Goes on with what came, one datagram after another.
    private func step(_ session: borrowing TLSSession, _ arrived: [Data]) throws -> (isDone: Bool, output: [Data]) {
        var isDone = try session.handshake()
        for datagram in arrived {
            session.feed(datagram)
            isDone = try session.handshake()
        }
        return (isDone, datagrams(session))
    }

    /// Shakes hands; `change` is what becomes of a flight on its way.
    @discardableResult private func shake(
        _ client: borrowing TLSSession,
        _ server: borrowing TLSSession,
        _ change: ([Data]) -> [Data] = { $0 }
    ) throws -> Int {
        var (near, far) = (false, false)
        var (toClient, flights): ([Data], Int) = ([], 0)
        while !(near && far), flights < 10 {
            flights += 1
            let said = near ? (isDone: true, output: []) : try step(client, toClient)
            near = said.isDone
            let heard = try step(server, change(said.output))
            far = heard.isDone
            toClient = change(heard.output)
        }
        if !near { near = try step(client, toClient).isDone }
        #expect(near && far)
        return flights
    }

    private func text(_ content: TLSSession.Content?) -> String? {
        guard case .bytes(let bytes)? = content else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// What becomes of a flight on its way.
    enum Trouble: CaseIterable {
        case none, doubled, reversed, followed

        func apply(_ flight: [Data]) -> [Data] {
            switch self {
            case .none: flight
            case .doubled: flight.flatMap { [$0, $0] }
            case .reversed: flight.reversed()
            case .followed:
                flight.flatMap { datagram in
                    [Data("nonsense".utf8), datagram, Data(datagram.dropLast()), Data(repeating: 0x16, count: 20_000)]
                }
            }
        }
    }

    @Test(arguments: Trouble.allCases) func `two ends agree, whatever comes besides, and in whatever order`(
        trouble: Trouble
    ) throws {
        let client = try self.client()
        let server = try self.server()
        // A word for a cookie, and both flights of each end.
        #expect(try shake(client, server, trouble.apply) == 4)
        let (near, far) = (client.metadata(serverName: "localhost"), server.metadata(serverName: nil))
        #expect(sec_protocol_metadata_get_negotiated_tls_protocol_version(near) == .DTLSv12)
        #expect(near.cipher == far.cipher && near.certificates.count == 1)
        for word in ["hello", " world"] { try client.write(Data(word.utf8)) }
        let sent = datagrams(client)
        #expect(sent.count == 2, "each piece has a datagram of its own")
        for (datagram, word) in zip(sent, ["hello", " world"]) {
            server.feed(datagram)
            #expect(text(try server.read(upTo: 100)) == word)
            #expect(try server.read(upTo: 100).map { _ in true } == nil)
        }
    }

    @Test func `nobody is talked to who has not shown that datagrams reach it`() throws {
        let client = try self.client()
        let server = try self.server()
        let hello = try step(client, []).output
        let answer = try step(server, hello)
        #expect(!answer.isDone && hello.count == 1 && answer.output.count == 1)
        let verify = try #require(answer.output.first)
        #expect(verify[13] == 3, "HelloVerifyRequest")
        #expect(verify.count < hello[0].count, "nothing is made larger")
        let second = try step(client, answer.output).output
        let flight = try step(server, second).output
        #expect(!flight.isEmpty)
    }

    /// What became of a datagram at a door.
    private struct Knock: Equatable {
        let isAdmitted: Bool
        var answers: [Data] = []
    }

    @Test func `a door lets in whom it has answered, and keeps nothing`() throws {
        let door = try DTLSDoor(certificates.serverOptions().securityProtocolOptions.values)
        let peer = try #require(SocketEnd(.hostPort(host: "192.0.2.1", port: 4433)))
        let others = [
            try #require(SocketEnd(.hostPort(host: "192.0.2.2", port: 4433))),
            try #require(SocketEnd(.hostPort(host: "192.0.2.1", port: 4434))),
            try #require(SocketEnd(.hostPort(host: "2001:db8::1", port: 4433))),
        ]
        func knock(_ datagram: Data, _ peer: SocketEnd) -> Knock {
            var answers: [Data] = []
            let isAdmitted = door.admits(datagram, from: peer) { answers.append($0) }
            return Knock(isAdmitted: isAdmitted, answers: answers)
        }
        let client = try self.client()
        let hello = try #require(try step(client, []).output.first)
        let first = knock(hello, peer)
        #expect(!first.isAdmitted && first.answers.count == 1)
        let second = try #require(try step(client, first.answers).output.first)
        for other in others {
            let answer = knock(second, other)
            #expect(!answer.isAdmitted && answer.answers.count == 1 && answer.answers != first.answers)
        }
        let cookie = try #require(first.answers.first).suffix(32)
        let place = try #require(second.range(of: cookie))
        var forged = second
        forged[place.lowerBound] ^= 1
        #expect(!knock(forged, peer).isAdmitted)
        for length in [0, 1, 12, 13, 25, 60] { #expect(!knock(second.prefix(length), peer).isAdmitted) }
        let nonsense = [
            Data("GET / HTTP/1.1".utf8), Data(repeating: 0, count: 100), Data(repeating: 22, count: 60_000),
        ]
        for datagram in nonsense { #expect(knock(datagram, peer) == Knock(isAdmitted: false)) }
        for _ in 0..<3 {
            #expect(knock(second, peer) == Knock(isAdmitted: true), "it remembers nobody, and needs not to")
        }
        // Whoever goes on with the client has not seen its first word.
        let server = try self.server()
        let answer = try step(server, [second]).output
        #expect(!answer.isEmpty)
        let more = try step(client, answer).output
        #expect(!more.isEmpty)
    }

    @Test func `what was said is due to be said again while an answer is missing`() throws {
        let client = try self.client()
        let server = try self.server()
        let before = [client.timeout, server.timeout]
        #expect(before == [nil, nil])
        _ = try client.handshake()
        let first = client.timeout
        #expect(try #require(first) <= .seconds(1))
        let hello = datagrams(client)
        _ = try step(server, hello)
        let after = server.timeout
        #expect(after == nil, "a server that keeps nothing repeats nothing")
        let other = try self.client()
        let peer = try self.server()
        try shake(other, peer)
        let done = [other.timeout, peer.timeout]
        #expect(done == [nil, nil])
        let values = certificates.clientOptions().securityProtocolOptions.values
        let stream = try TLSSession(values, peerName: "localhost", isServer: false)
        _ = try stream.handshake()
        let streaming = stream.timeout
        #expect(streaming == nil)
    }

    @Test(arguments: [280, 600, 1232] as [Int32], [true, false])
    func `the handshake fits into datagrams of a length`(longest: Int32, hasTwo: Bool) throws {
        let client = try self.client(longest: longest)
        let server = try self.server(longest: longest, requiresClient: hasTwo)
        var lengths: [Int] = []
        try shake(client, server) { flight in
            lengths += flight.map(\.count)
            return flight
        }
        #expect(try #require(lengths.max()) <= Int(longest), "\(lengths)")
        #expect(try #require(lengths.max()) > Int(longest) / 3)
        try client.write(Data(repeating: 1, count: 16_384))
        let sent = datagrams(client)
        #expect(sent.count == 1, "content is not cut")
    }

    @Test func `what fits into a datagram is known`() throws {
        let client = try self.client()
        let server = try self.server()
        try shake(client, server)
        for length in [576, 1472, 9000] {
            let room = client.room(in: length)
            try client.write(Data(repeating: 1, count: room))
            try client.write(Data(repeating: 1, count: room + 1))
            let lengths = datagrams(client).map(\.count)
            #expect(lengths == [length, length + 1])
        }
        #expect(throws: NWError.self) { try client.write(Data(repeating: 1, count: 16_385)) }
    }

    @Test func `what was changed, came before or is from elsewhere is dropped`() throws {
        let client = try self.client()
        let server = try self.server()
        try shake(client, server)
        try client.write(Data("hello".utf8))
        let good = try #require(datagrams(client).first)
        var bad: [Data] = [Data("nonsense".utf8), Data(repeating: 0xff, count: 30_000)]
        for place in 0..<good.count {
            var changed = good
            changed[place] ^= 0x40
            bad.append(changed)
            bad.append(good.prefix(place))
        }
        // An alert that anybody could have sent: fatal, of the first epoch.
        bad.append(Data([21, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 9, 0, 2, 2, 40]))
        for datagram in bad {
            server.feed(datagram)
            #expect(try server.read(upTo: 100).map { _ in true } == nil)
        }
        server.feed(good)
        #expect(text(try server.read(upTo: 100)) == "hello")
        server.feed(good)
        #expect(try server.read(upTo: 100).map { _ in true } == nil, "once is enough")
        let told = datagrams(server)
        #expect(told.isEmpty, "nobody is told")
        client.finish()
        for datagram in datagrams(client) { server.feed(datagram) }
        guard case .end? = try server.read(upTo: 1) else {
            Issue.record("no end")
            return
        }
    }

    @Test func `several records in one datagram are several pieces`() throws {
        let client = try self.client()
        let server = try self.server()
        try shake(client, server)
        for word in ["one", "two"] { try client.write(Data(word.utf8)) }
        server.feed(datagrams(client).reduce(Data(), +))
        for word in ["one", "two"] { #expect(text(try server.read(upTo: 100)) == word) }
    }

    @Test func `a wrong name is found out by the client, and told to the server`() throws {
        let client = try self.client("elsewhere.example")
        let server = try self.server()
        #expect(throws: NWError.tls(errSSLHostNameMismatch)) { try shake(client, server) }
        #expect(throws: NWError.tls(errSSLPeerBadCert)) { try step(server, datagrams(client)) }
    }

    @Test func `version 1.2 is the only one`() throws {
        func versions(_ lowest: tls_protocol_version_t?, _ highest: tls_protocol_version_t?, longest: Int32) throws {
            var values = certificates.clientOptions().securityProtocolOptions.values
            (values.lowest, values.highest) = (lowest, highest)
            _ = try TLSSession(values, peerName: "localhost", isServer: false, longestDatagram: longest).handshake()
        }
        for version in [tls_protocol_version_t.TLSv12, .DTLSv12] {
            try versions(version, version, longest: 1232)
            try versions(version, version, longest: 0)
        }
        try versions(.TLSv12, .TLSv13, longest: 1232)
        #expect(throws: NWError.tls(errSSLBadConfiguration)) { try versions(.TLSv13, nil, longest: 1232) }
        #expect(tls_protocol_version_t.DTLSv12.number(isDatagram: false) == 0x0303)
        #expect(tls_protocol_version_t.TLSv12.number(isDatagram: true) == 0xfefd)
    }
}
