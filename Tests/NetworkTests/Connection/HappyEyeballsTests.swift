// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
@testable import Network
import Testing

@Suite struct HappyEyeballsTests {
    private typealias Action = HappyEyeballs.Action

    private let none = NWError.dns(kDNSServiceErr_NoSuchRecord)
    private let refused = NWError.posix(.ECONNREFUSED)

    private func end(_ text: String) -> SocketEnd {
        SocketEnd(address: Addressing.IPAddress(text) ?? .v4(0), port: 80)
    }

    private func at(_ milliseconds: Int) -> Duration { .milliseconds(milliseconds) }

    private func make() -> HappyEyeballs { HappyEyeballs(awaiting: [.ipv4, .ipv6], error: none) }

    @Test func `IPv6 is tried first, and IPv4 a little later`() {
        var machine = make()
        #expect(machine.found([end("2001:db8::1")], at: at(10)) == [.attempt(1, end("2001:db8::1"))])
        #expect(machine.found([end("192.0.2.1")], at: at(20)) == [])
        #expect(machine.deadline == at(260))
        #expect(machine.next(at: at(259)) == [])
        #expect(machine.next(at: at(260)) == [.attempt(2, end("192.0.2.1"))])
        #expect(machine.deadline == nil)
    }

    @Test func `IPv4 waits a moment for the answer with IPv6`() {
        var machine = make()
        #expect(machine.found([end("192.0.2.1")], at: at(0)) == [])
        #expect(machine.deadline == at(50))
        var patient = machine
        #expect(machine.next(at: at(50)) == [.attempt(1, end("192.0.2.1"))])
        #expect(patient.found([end("2001:db8::1")], at: at(30)) == [.attempt(1, end("2001:db8::1"))])
    }

    @Test func `IPv4 does not wait when there is no IPv6`() {
        var machine = make()
        #expect(machine.finished(.ipv6, error: none, at: at(0)) == [])
        #expect(machine.found([end("192.0.2.1")], at: at(1)) == [.attempt(1, end("192.0.2.1"))])
    }

    @Test func `families take turns, and an address is tried once`() {
        var machine = make()
        var tried = machine.found([end("2001:db8::1"), end("2001:db8::2"), end("2001:db8::1")], at: at(0))
        tried += machine.found([end("192.0.2.1"), end("192.0.2.2")], at: at(0))
        for step in 1...5 { tried += machine.next(at: at(250 * step)) }
        let order = ["2001:db8::1", "192.0.2.1", "2001:db8::2", "192.0.2.2"]
        #expect(tried == order.enumerated().map { Action.attempt($0 + 1, end($1)) })
    }

    @Test func `the next address need not wait when one fails`() {
        var machine = make()
        _ = machine.found([end("2001:db8::1")], at: at(0))
        _ = machine.found([end("192.0.2.1")], at: at(0))
        #expect(machine.failed(1, refused, at: at(5)) == [.attempt(2, end("192.0.2.1"))])
    }

    @Test func `the first that connects ends the others`() {
        var machine = make()
        _ = machine.found([end("2001:db8::1"), end("2001:db8::2")], at: at(0))
        _ = machine.found([end("192.0.2.1")], at: at(0))
        _ = machine.next(at: at(250))
        #expect(machine.connected(2) == [.abandon(1)])
        #expect(machine.isOver && machine.deadline == nil)
        #expect(machine.next(at: at(900)) == [] && machine.failed(1, refused, at: at(901)) == [])
        #expect(machine.connected(1) == [])
    }

    @Test func `it is exhausted when look-ups and attempts are over`() {
        var machine = make()
        _ = machine.found([end("192.0.2.1")], at: at(0))
        _ = machine.finished(.ipv4, at: at(0))
        _ = machine.finished(.ipv6, error: none, at: at(0))
        #expect(machine.failed(1, refused, at: at(5)) == [.exhausted(refused)])
        #expect(machine.isOver)
    }

    @Test func `an attempt that failed does not end it while a family is awaited`() {
        var machine = make()
        _ = machine.found([end("2001:db8::1")], at: at(0))
        #expect(machine.failed(1, refused, at: at(5)) == [])
        #expect(machine.finished(.ipv6, at: at(6)) == [])
        #expect(machine.finished(.ipv4, error: none, at: at(7)) == [.exhausted(refused)], "the peer said more")
    }

    @Test func `without an address the look-ups say why`() {
        var machine = make()
        #expect(machine.finished(.ipv4, error: none, at: at(0)) == [])
        let other = NWError.dns(kDNSServiceErr_Timeout)
        #expect(machine.finished(.ipv6, error: other, at: at(0)) == [.exhausted(other)])
    }

    @Test func `what is skipped makes room for the next`() {
        var machine = make()
        _ = machine.found([end("2001:db8::1"), end("2001:db8::2")], at: at(0))
        #expect(machine.skip(refused, at: at(1)) == [.abandon(1), .attempt(2, end("2001:db8::2"))])
        _ = machine.finished(.ipv4, at: at(2))
        _ = machine.finished(.ipv6, at: at(2))
        #expect(machine.skip(refused, at: at(3)) == [.abandon(2), .exhausted(refused)])
    }

    @Test func `a literal address is one attempt`() {
        var machine = HappyEyeballs(awaiting: [], error: none)
        #expect(machine.found([end("192.0.2.1")], at: at(0)) == [.attempt(1, end("192.0.2.1"))])
        #expect(machine.failed(1, refused, at: at(1)) == [.exhausted(refused)])
    }
}
