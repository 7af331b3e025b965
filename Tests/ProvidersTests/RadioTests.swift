// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import Netlink
import PathModel
import TestSupport
import Testing

@testable import Providers

@Suite struct RadioSwitchesTests {
    private func event(_ index: UInt8, _ type: UInt8, _ operation: UInt8, soft: UInt8 = 0, hard: UInt8 = 0) -> [UInt8] {
        [index, 0, 0, 0, type, operation, soft, hard]
    }

    @Test func `calls a kind of radio off when all of that kind are off, hard or soft`() {
        var switches = RadioSwitches()
        #expect(switches.facts == RadioFacts())
        switches.apply(event(0, 1, 0, soft: 1)[...])
        #expect(switches.facts == RadioFacts(isWifiBlocked: true, hasWifi: true))
        switches.apply(event(1, 1, 0)[...])
        #expect(switches.facts == RadioFacts(hasWifi: true))
        switches.apply(event(1, 1, 2, hard: 1)[...])
        switches.apply((event(2, 5, 0, soft: 1) + [9])[...])
        let off = RadioFacts(isWifiBlocked: true, isWwanBlocked: true, hasWifi: true, hasWwan: true)
        #expect(switches.facts == off)
        for index in 0..<3 as Range<UInt8> { switches.apply(event(index, 1, 1)[...]) }
        #expect(switches.facts == RadioFacts())
    }

    @Test func `knows which of several devices is blocked`() {
        var switches = RadioSwitches()
        switches.apply(event(0, 1, 0, soft: 1)[...]) { _ in 7 }
        switches.apply(event(1, 1, 0)[...]) { _ in 8 }
        switches.apply(event(2, 1, 0, soft: 1)[...])
        #expect(switches.facts.blockedDevices == [7: false] && !switches.facts.isWifiBlocked)
        // The device of a switch stays what it was.
        switches.apply(event(1, 1, 2, hard: 1)[...])
        switches.apply(event(0, 1, 2)[...]) { _ in 9 }
        #expect(switches.facts.blockedDevices == [8: true])
    }

    @Test func `ignores bluetooth, short records and unknown operations`() {
        var switches = RadioSwitches()
        switches.apply(event(0, 2, 0, soft: 1)[...])
        switches.apply(event(1, 1, 0, soft: 1).dropLast())
        switches.apply(event(1, 1, 3, soft: 1)[...])
        switches.apply([])
        #expect(switches.facts == RadioFacts())
    }

    @Test func `is bounded`() {
        var switches = RadioSwitches()
        for index in 0..<300 as Range<UInt32> { switches.set(index, type: 1, isBlocked: index < 256) }
        #expect(switches.facts == RadioFacts(isWifiBlocked: true, hasWifi: true))
    }
}

@Suite(.inNamespace) struct RadioSwitchProviderTests {
    private let loop = Namespace.current.loop

    @Test func `follows the device, of which a pipe has the shape`() async throws {
        let scratch = try Scratch()
        try Command.run(["mkfifo", scratch("rfkill")])
        let writer = try FileDescriptor(opening: scratch("rfkill"), flags: O_RDWR)
        try writer.writeAll(([0, 0, 0, 0, 1, 0, 1, 0] as [UInt8]).span)
        let known = RadioSwitchProvider.current(device: scratch("rfkill"), sysfs: scratch("none"))
        #expect(known == RadioFacts(isWifiBlocked: true, hasWifi: true))
        try writer.writeAll(([0, 0, 0, 0, 1, 0, 1, 0] as [UInt8]).span)
        let provider = RadioSwitchProvider(loop: loop, device: scratch("rfkill"), sysfs: scratch("none"))
        provider.start()
        #expect(provider.health.state == .active)
        await loop.eventually { provider.facts == RadioFacts(isWifiBlocked: true, hasWifi: true) }
        var changes = 0
        provider.onChange = { changes += 1 }
        try writer.writeAll(([0, 0, 0, 0, 1, 2, 0, 0] as [UInt8]).span)
        await loop.eventually { changes == 1 && !provider.facts.isWifiBlocked }
        provider.stop()
    }

    @Test func `reads sysfs where there is no device`() throws {
        let scratch = try Scratch()
        try Command.run(["mkdir", "-p", scratch("sys/rfkill0"), scratch("sys/rfkill1"), scratch("sys/other")])
        for (name, text) in [("rfkill0/type", "wlan\n"), ("rfkill0/soft", "0\n"), ("rfkill0/hard", "1\n")] {
            try scratch.write(text, to: "sys/" + name)
        }
        try Command.run(["mkdir", scratch("sys/rfkill0/device")])
        try scratch.write("3\n", to: "sys/rfkill0/device/index")
        let provider = RadioSwitchProvider(loop: loop, device: scratch("rfkill"), sysfs: scratch("sys"))
        provider.start()
        let blocked = RadioFacts(
            isWifiBlocked: true,
            hasWifi: true,
            isWifiBlockedByHardware: true,
            blockedDevices: [3: true]
        )
        #expect(provider.facts == blocked)
        #expect(RadioSwitchProvider.current(device: scratch("rfkill"), sysfs: scratch("sys")) == blocked)
        try scratch.write("0\n", to: "sys/rfkill0/hard")
        provider.refresh()
        #expect(provider.facts == RadioFacts(hasWifi: true))
        provider.stop()
    }

    @Test func `is absent on a machine without radios`() throws {
        let scratch = try Scratch()
        let provider = RadioSwitchProvider(loop: loop, device: scratch("rfkill"), sysfs: scratch("sys"))
        provider.start()
        #expect(provider.health == ProviderHealth(state: .absent))
        #expect(provider.facts == RadioFacts())
    }
}

@Suite struct WirelessMessageTests {
    private func attribute(_ type: UInt16, _ value: [UInt8]) -> [UInt8] {
        let length = value.count + 4
        let padding = [UInt8](repeating: 0, count: (4 - value.count % 4) % 4)
        return [UInt8(length & 255), UInt8(length >> 8), UInt8(type & 255), UInt8(type >> 8)] + value + padding
    }

    private func message(_ command: UInt8, _ attributes: [UInt8], type: UInt8 = 30) -> [UInt8] {
        let length = 20 + attributes.count
        return [UInt8(length & 255), UInt8(length >> 8), 0, 0, type, 0, 2, 0] + [7, 0, 0, 0, 0, 0, 0, 0]
            + [command, 1, 0, 0] + attributes
    }

    private var station: [UInt8] {
        message(7, attribute(3, [5, 0, 0, 0]) + attribute(5, [2, 0, 0, 0]) + attribute(52, Array("home".utf8)))
    }

    @Test func `reads an interface`() throws {
        let parsed = try #require(GenericMessage.parse(station[...]).first)
        let (index, facts) = try #require(WirelessMessage.interface(parsed))
        #expect(index == 5 && parsed.sequence == 7 && parsed.type == 30)
        #expect(facts == WirelessFacts(mode: 2, ssid: Array("home".utf8)))
        #expect(facts.isStation)
    }

    @Test(
        arguments: [([(7, 0xC3)], -61), ([(7, 0xC3), (13, 0xBA)], -70), ([(1, 0xC3)], nil)]
            as [([(UInt16, UInt8)], Int?)]
    )
    func `reads a signal, the average first`(values: [(UInt16, UInt8)], expected: Int?) throws {
        let info = values.flatMap { attribute($0.0, [$0.1]) }
        let bytes = message(19, attribute(3, [5, 0, 0, 0]) + attribute(21 | 0x8000, info))
        let parsed = try #require(GenericMessage.parse(bytes[...]).first)
        #expect(WirelessMessage.signal(parsed)?.signal == expected)
    }

    @Test func `reads the name of a family, errors and the end of a dump`() {
        let family = message(1, attribute(2, Array("nl80211".utf8) + [0]), type: 16)
        #expect(GenericMessage.parse(family[...]).first.flatMap(\.familyName) == "nl80211")
        let error: [UInt8] = [20, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xED, 0xFF, 0xFF, 0xFF]
        #expect(GenericMessage.parse((station + error)[...]).last?.code == -19)
    }

    @Test func `survives every length and every length field`() {
        for length in 0..<station.count {
            #expect(GenericMessage.parse(station[..<length]).isEmpty)
        }
        for index in station.indices {
            for byte in [0, 1, 3, 4, 255] as [UInt8] {
                var changed = station
                changed[index] = byte
                let messages = GenericMessage.parse(changed[...])
                #expect(messages.count <= 3)
                _ = messages.compactMap(WirelessMessage.interface)
                _ = messages.compactMap(WirelessMessage.signal)
            }
        }
    }
}

@Suite(.inNamespace) struct WirelessProviderTests {
    @Test func `asks the real kernel, which may lack nl80211`() async throws {
        let loop = Namespace.current.loop
        let provider = WirelessProvider(loop: loop, intervals: .init(open: .milliseconds(5)))
        provider.start()
        let hasFamily = try GenericSocket().family("nl80211") != nil
        #expect(provider.health.state == (hasFamily ? .active : .absent))
        #expect(provider.health.lastError == nil)
        provider.isSampling = true
        await loop.sleep(for: .milliseconds(20))
        // A new network namespace has no Wi-Fi interface.
        #expect(provider.interfaces.isEmpty)
        provider.isSampling = false
        provider.stop()
        provider.start()
        provider.stop()
    }

    @Test func `finds a family that every kernel has, and joins its group`() throws {
        var socket = try GenericSocket()
        let known = socket.family("nlctrl")
        let unknown = socket.family("nwpath-none")
        #expect(known == 16 && unknown == nil)
        let joined = socket.join("notify", of: "nlctrl")
        let refused = socket.join("nothing", of: "nlctrl")
        #expect(joined && !refused)
        // CTRL_CMD_GETFAMILY: the answer is a dump of families.
        try socket.send(Question(family: 16, command: 3, isDump: true))
        let answer = try socket.receive()
        let bytes = try #require(answer)
        let names = GenericMessage.parse(bytes).compactMap(\.familyName)
        #expect(names.contains("nlctrl"))
    }
}
