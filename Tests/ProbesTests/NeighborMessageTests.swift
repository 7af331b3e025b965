// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Testing

@testable import Probes

@Suite struct NeighborMessageTests {
    private static let own: [UInt8] = [2, 0, 0, 0, 0, 1]
    private static let other: [UInt8] = [2, 0, 0, 0, 0, 0x66]

    private static func message(_ target: String, source: UInt32 = 0) throws -> NeighborMessage {
        let sender = try #require(HardwareAddress(own))
        return NeighborMessage(target: try #require(IPAddress(target)), sender: sender, source: source)
    }

    /// An ARP message of somebody.
    private static func arp(_ operation: UInt8, _ hardware: [UInt8], _ address: [UInt8]) -> [UInt8] {
        [0, 1, 8, 0, 6, 4, 0, operation] + hardware + address + own + [192, 0, 2, 1]
    }

    /// A neighbour advertisement with options.
    private static func advertisement(_ target: IPAddress, _ options: [UInt8]) -> [UInt8] {
        [136, 0, 0, 0, 0x60, 0, 0, 0] + target.bytes + options
    }

    @Test func `an ARP request is that of RFC 826, with or without a sender`() throws {
        let request = try Self.message("192.0.2.7", source: 0xC000_0201).request
        #expect(request == [0, 1, 8, 0, 6, 4, 0, 1] + Self.own + [192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 192, 0, 2, 7])
        #expect(request.count == 28)
        let probe = try Self.message("192.0.2.7").request
        #expect(Array(probe[14..<18]) == [0, 0, 0, 0])
        #expect(try Self.message("192.0.2.7").group == nil)
    }

    @Test func `a solicitation goes to the group of its target`() throws {
        let message = try Self.message("2001:db8::1234:5678")
        #expect(message.group?.description == "ff02::1:ff34:5678")
        #expect(message.request == [135, 0, 0, 0, 0, 0, 0, 0] + message.target.bytes + [1, 1] + Self.own)
        #expect(message.request.count == 32)
    }

    @Test(arguments: [1, 2] as [UInt8])
    func `the owner of an IPv4 address is whoever speaks with it`(operation: UInt8) throws {
        let message = try Self.message("192.0.2.7")
        let datagram = Self.arp(operation, Self.other, [192, 0, 2, 7])
        #expect(message.owner(of: datagram)?.description == "02:00:00:00:00:66")
        #expect(message.owner(of: datagram + [0, 0, 0, 0]) != nil)
    }

    @Test func `our own requests, other addresses and other protocols say nothing`() throws {
        let message = try Self.message("192.0.2.7")
        #expect(message.owner(of: Self.arp(1, Self.own, [192, 0, 2, 7])) == nil)
        #expect(message.owner(of: Self.arp(2, Self.other, [192, 0, 2, 8])) == nil)
        #expect(message.owner(of: Self.arp(3, Self.other, [192, 0, 2, 7])) == nil)
        #expect(message.owner(of: Self.arp(0, Self.other, [192, 0, 2, 7])) == nil)
        let good = Self.arp(2, Self.other, [192, 0, 2, 7])
        for place in 0..<7 {
            var bytes = good
            bytes[place] ^= 1
            #expect(message.owner(of: bytes) == nil, "\(place)")
        }
        for length in 0..<28 { #expect(message.owner(of: Array(good[..<length])) == nil) }
    }

    @Test func `the owner of an IPv6 address says so by an option`() throws {
        let message = try Self.message("fe80::7")
        let option: [UInt8] = [2, 1] + Self.other
        let padding: [UInt8] = [14, 1, 0, 0, 0, 0, 0, 0]
        for options in [option, padding + option, option + padding] {
            #expect(message.owner(of: Self.advertisement(message.target, options)) == HardwareAddress(Self.other))
        }
    }

    @Test func `what is no advertisement of the target says nothing`() throws {
        let message = try Self.message("fe80::7")
        let option: [UInt8] = [2, 1] + Self.other
        let good = Self.advertisement(message.target, option)
        #expect(message.owner(of: good, hopLimit: 64) == nil)
        #expect(message.owner(of: good, hopLimit: nil) == nil)
        #expect(message.owner(of: Self.advertisement(.v6(1), option)) == nil)
        #expect(message.owner(of: Self.advertisement(message.target, [])) == nil)
        #expect(message.owner(of: Self.advertisement(message.target, [1, 1] + Self.other)) == nil)
        #expect(message.owner(of: Self.advertisement(message.target, [2, 1] + Self.own)) == nil)
        // An option without a length, and one that is longer than the message.
        #expect(message.owner(of: Self.advertisement(message.target, [2, 0] + Self.other)) == nil)
        #expect(message.owner(of: Self.advertisement(message.target, [2, 2] + Self.other)) == nil)
        for length in 0..<good.count { #expect(message.owner(of: Array(good[..<length])) == nil) }
        for (place, value) in [(0, 135), (1, 1)] as [(Int, UInt8)] {
            var bytes = good
            bytes[place] = value
            #expect(message.owner(of: bytes) == nil)
        }
    }

    @Test(arguments: ["192.0.2.7", "fe80::7"])
    func `random datagrams do no harm`(target: String) throws {
        let message = try Self.message(target)
        for _ in 0..<5000 {
            var bytes = (0..<Int.random(in: 0...80)).map { _ in UInt8.random(in: .min ... .max) }
            // Half of them speak of the target where an advertisement does.
            if Bool.random() && bytes.count >= 24 { bytes.replaceSubrange(8..<24, with: message.target.bytes) }
            _ = message.owner(of: bytes)
        }
    }

    @Test func `a hardware address has six bytes`() throws {
        #expect(HardwareAddress([1, 2, 3, 4, 5]) == nil)
        let (low, high) = try (#require(HardwareAddress(Self.own)), #require(HardwareAddress(Self.other)))
        #expect(low < high && low.description == "02:00:00:00:00:01")
    }
}

extension NeighborMessage {
    /// As the message itself, for an array: expectations cannot hold a span.
    fileprivate func owner(of bytes: [UInt8], hopLimit: Int? = 255) -> HardwareAddress? {
        owner(in: bytes.span, hopLimit: hopLimit)
    }
}
