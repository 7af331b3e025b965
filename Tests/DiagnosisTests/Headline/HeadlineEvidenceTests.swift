// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import PathModel
import Testing

/// What a test shows of the Internet, by why it fails and by which way its packets go.
@Suite struct HeadlineEvidenceTests {
    /// A machine with both families, 200 s after its path became satisfied.
    private static func judge(_ probes: [ProbeObservation], isReachable: Bool? = nil) throws -> Headline {
        let eth0 = PathInterface(name: "eth0", index: 2, type: .wiredEthernet)
        func family(_ gateway: String, _ family: AddressFamily, _ source: String) throws -> FamilyPath {
            let address = ScopedAddress(try #require(IPAddress(gateway)))
            let gateway = Gateway(address: address, interface: "eth0", family: family, isReachable: isReachable)
            return FamilyPath(interfaces: [eth0], gateways: [gateway], source: try #require(IPAddress(source)))
        }
        let server = DNSServer(ScopedAddress(try #require(IPAddress("198.51.100.53"))))
        let path = Path(
            status: .satisfied,
            reason: nil,
            interfaces: [eth0],
            ipv4: try family("192.0.2.1", .ipv4, "192.0.2.7"),
            ipv6: try family("2001:db8::1", .ipv6, "2001:db8::7"),
            dns: DNSState(servers: [server], isUsable: true)
        )
        var facts = HeadlineFacts(host: "office-7", path: path, statusSince: .seconds(100), now: .seconds(300))
        facts.probes = probes
        return HeadlineEvaluator(facts).headline
    }

    private static func failing(
        _ name: String,
        _ failure: String,
        _ family: AddressFamily? = .ipv4,
        at position: ProbeObservation.Position = .beyond
    ) -> ProbeObservation {
        ProbeObservation(
            name,
            position,
            family: family,
            isFailing: true,
            failingSince: .seconds(280),
            lastStart: .seconds(290),
            failure: failure
        )
    }

    private static func server(at second: Int, _ family: AddressFamily = .ipv4) -> ProbeObservation {
        ProbeObservation("nameserver1", .nameServer, family: family, answered: .seconds(second))
    }

    @Test(arguments: ["status", "tls", "answer"])
    func `a host that answers with an error has answered`(failure: String) throws {
        let shop = try Self.judge([Self.failing("shop", failure), Self.server(at: 295)])
        #expect(shop.state == .online && shop.message.hasSuffix("but 1 of 2 tests fails: shop (\(failure))"))
        let alone = try Self.judge([Self.failing("shop", failure)])
        #expect(alone.state == .degraded && alone.message == "1 of 1 tests fails: shop (\(failure))")
    }

    @Test func `a closed port is no outage, and nothing is known of the rest`() throws {
        let closed = try Self.judge([Self.failing("p", "refused"), Self.server(at: 295)])
        #expect(closed.state == .degraded && closed.message == "1 of 2 tests fails: p (refused)")
    }

    @Test func `a router that answers for several hosts is no Internet`() throws {
        let two = ["a", "b"].map { Self.failing($0, "refused") }
        #expect(try Self.judge(two).state == .noInternet)
        #expect(try Self.judge(two + [Self.server(at: 295)]).state == .degraded)
        let page = [Self.failing("a", "timeout"), Self.failing("b", "timeout"), Self.failing("page", "status")]
        #expect(try Self.judge(page).state == .noInternet)
        #expect(try Self.judge(Array(page.dropFirst())).state == .degraded, "one host is silent, one answers")
    }

    @Test func `one silent host is its own fault where a name server beyond answers, two are not`() throws {
        let one = Self.failing("far", "timeout")
        #expect(try Self.judge([one]).state == .noInternet)
        #expect(try Self.judge([one, Self.server(at: 270)]).state == .noInternet, "it answered before")
        #expect(try Self.judge([one, Self.server(at: 295)]).state == .degraded)
        var near = Self.server(at: 295)
        near.bypassesGateway = true
        #expect(try Self.judge([one, near]).state == .noInternet, "the router's own answers show nothing of beyond")
        let two = [one, Self.failing("farther", "unreachable"), Self.server(at: 295)]
        #expect(try Self.judge(two).state == .noInternet)
    }

    @Test func `a family that fails alone is no outage of the Internet`() throws {
        let six = Self.failing("six", "timeout", .ipv6)
        let alone = try Self.judge([six, Self.server(at: 270)])
        #expect(alone.state == .degraded && alone.message == "1 of 2 tests fails: six (timeout)")
        let other = ProbeObservation("far6", .beyond, family: .ipv6, answered: .seconds(295))
        let four = ["a", "b"].map { Self.failing($0, "timeout") }
        let lost = try Self.judge(four + [other])
        #expect(lost.state == .degraded)
        let fault = "nothing beyond 192.0.2.1 answers over IPv4"
        #expect(lost.message == "\(fault) (2 of 2 tests fail: a (timeout), b (timeout))")
        #expect(try Self.judge(four + [Self.server(at: 295, .ipv6)]).state == .degraded)
        #expect(try Self.judge(four + [six]).state == .noInternet)
    }

    @Test func `a test by another route fails for itself`() throws {
        let backup = Self.failing("backup", "timeout", at: .elsewhere)
        let headline = try Self.judge([backup, Self.server(at: 270)])
        #expect(headline.state == .connected)
        #expect(
            headline.message == "the name server answers via eth0 and 192.0.2.1; 1 of 2 tests fails: backup (timeout)"
        )
        let far = ProbeObservation("far", .beyond, answered: .seconds(295))
        let online = try Self.judge([backup, far])
        #expect(online.state == .online && online.message.hasSuffix("but 1 of 2 tests fails: backup (timeout)"))
    }

    @Test func `others are not awaited for ever where packets are lost all the time`() throws {
        func state(answeringSince second: Int) throws -> Headline.State {
            var lossy = Self.failing("far", "timeout")
            lossy.lastStart = .seconds(285)
            let near = ProbeObservation("near", .beyond, answered: .seconds(299), answeringSince: .seconds(second))
            return try Self.judge([lossy, near, near]).state
        }
        #expect(try state(answeringSince: 298) == .checking)
        #expect(try state(answeringSince: 290) == .online)
    }

    @Test func `a gateway that answers again begins anew`() throws {
        var tracker = UplinkTracker()
        var path = Path(reason: .noCarrier)
        tracker.apply(path, at: .seconds(1))
        let gateway = Gateway(
            address: ScopedAddress(try #require(IPAddress("192.0.2.1"))),
            interface: "eth0",
            family: .ipv4,
            isReachable: false
        )
        func set(_ isReachable: Bool?, at second: Int) {
            var current = gateway
            current.isReachable = isReachable
            path.ipv4 = FamilyPath(interfaces: [], gateways: [current], source: gateway.address.address)
            tracker.apply(path, at: .seconds(second))
        }
        set(true, at: 2)
        #expect(tracker.since == .zero)
        set(false, at: 3)
        set(false, at: 4)
        #expect(tracker.since == .zero)
        set(nil, at: 5)
        set(true, at: 6)
        #expect(tracker.since == .seconds(5))
    }
}
