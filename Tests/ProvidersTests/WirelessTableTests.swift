// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import PathModel
import Testing

@testable import Providers

@Suite struct WirelessTableTests {
    private typealias Message = GenericMessage

    private func interface(_ index: UInt8, mode: UInt8 = 2, ssid: String? = nil, sequence: UInt32 = 1) -> Message {
        var attributes: [UInt16: [UInt8]] = [3: [index, 0, 0, 0], 5: [mode, 0, 0, 0]]
        attributes[52] = ssid.map { Array($0.utf8) }
        return Message(type: 30, sequence: sequence, command: 7, code: nil, attributes: attributes)
    }

    private func end(_ sequence: UInt32, error: Bool = false) -> Message {
        let type = error ? GenericMessage.errorType : GenericMessage.doneType
        return Message(type: type, sequence: sequence, command: 0, code: error ? -16 : 0, attributes: [:])
    }

    /// A table that was told these interfaces.
    private func table(_ messages: [Message]) -> WirelessTable {
        var table = WirelessTable()
        load(&table, messages)
        return table
    }

    private func load(_ table: inout WirelessTable, _ messages: [Message]) {
        answer(&table, .interfaces, messages)
        // The access points are not known to the kernel.
        while table.next() != nil {
            table.sent(1)
            _ = table.receive(end(1, error: true), at: .zero)
        }
    }

    /// Answers the next request.
    private func answer(
        _ table: inout WirelessTable,
        _ request: WirelessTable.Request,
        _ messages: [Message],
        at now: Duration = .zero
    ) {
        if request == .interfaces { table.enqueue(.interfaces) }
        let next = table.next()
        #expect(next == request)
        table.sent(1)
        for var message in messages {
            message.sequence = 1
            _ = table.receive(message, at: now)
        }
        _ = table.receive(end(1), at: now)
    }

    /// A table of a station that is associated as it was recorded.
    private func associated() -> WirelessTable {
        var table = WirelessTable()
        answer(&table, .interfaces, [WirelessRecording.message(WirelessRecording.interface)])
        answer(&table, .station(index: 2), [WirelessRecording.message(WirelessRecording.station)])
        let networks = [WirelessRecording.neighbour, WirelessRecording.associated].map { WirelessRecording.message($0) }
        answer(&table, .networks(index: 2), networks)
        let rest = table.next()
        #expect(rest == nil)
        return table
    }

    /// The recorded station entry of another access point.
    private func station(at address: [UInt8]) -> Message {
        var message = WirelessRecording.message(WirelessRecording.station)
        message.attributes[6] = address
        return message
    }

    /// The recorded scan entries after a roam.
    private var roamed: [Message] {
        [(WirelessRecording.associated, 0), (WirelessRecording.neighbour, 1)].map { bytes, status in
            var message = WirelessRecording.message(bytes)
            var entry = message.attributes[47] ?? []
            // NL80211_BSS_STATUS is the last but one of an associated entry.
            let mark: [UInt8] = [8, 0, 9, 0, 1, 0, 0, 0]
            if let start = (0..<entry.count).first(where: { Array(entry[$0...].prefix(8)) == mark }) {
                entry.removeSubrange(start..<(start + 8))
            }
            if status == 1 { entry += mark }
            message.attributes[47] = entry
            return message
        }
    }

    @Test func `learns network, access point, signal and rates of an association`() {
        let facts = associated().interfaces[2]
        var expected = WirelessFacts(
            mode: 2,
            ssid: Array("office-7".utf8),
            signal: -30,
            bssid: [2, 0, 0, 0, 1, 0],
            frequency: 2437,
            receiveRate: 39_000_000,
            transmitRate: 13_000_000,
            isAuthorized: true
        )
        expected.device = 0
        #expect(facts == expected && facts?.band == "2.4")
        #expect(facts?.clause == "associated with office-7 on 2437 MHz, -30 dBm, authorized")
    }

    @Test func `a network that the scan's results do not have yet is looked for again, a few times`() {
        var table = WirelessTable()
        answer(&table, .interfaces, [WirelessRecording.message(WirelessRecording.interface)])
        let station = WirelessRecording.message(WirelessRecording.station)
        answer(&table, .station(index: 2), [station])
        answer(&table, .networks(index: 2), [WirelessRecording.message(WirelessRecording.neighbour)])
        #expect(table.interfaces[2]?.ssid == nil && table.isWaiting && table.isAssociated)
        for request in table.stations { table.enqueue(request) }
        answer(&table, .station(index: 2), [station])
        answer(&table, .networks(index: 2), [WirelessRecording.message(WirelessRecording.associated)])
        #expect(table.interfaces[2]?.ssid == Array("office-7".utf8) && !table.isWaiting)

        var stubborn = WirelessTable()
        answer(&stubborn, .interfaces, [WirelessRecording.message(WirelessRecording.interface)])
        answer(&stubborn, .station(index: 2), [station])
        var looks = 0
        while stubborn.next() == .networks(index: 2) {
            stubborn.sent(1)
            _ = stubborn.receive(end(1), at: .zero)
            looks += 1
            for request in stubborn.stations { stubborn.enqueue(request) }
            answer(&stubborn, .station(index: 2), [station])
        }
        #expect(looks == 1 + WirelessTable.mostMisses && !stubborn.isWaiting)
    }

    @Test func `counts what the station counted of its access point`() {
        var table = associated()
        let counted = RadioCounters(
            accessPoint: [2, 0, 0, 0, 1, 0],
            signal: -30,
            sent: 13,
            retries: 0,
            failures: 0,
            beaconLosses: 0
        )
        #expect(table.counters == [2: counted])
        answer(&table, .interfaces, [])
        #expect(table.counters.isEmpty)
    }

    @Test func `does not request the large results of a scan again for the same access point`() {
        var table = associated()
        let before = table.interfaces
        answer(&table, .interfaces, [WirelessRecording.message(WirelessRecording.interface)])
        answer(&table, .station(index: 2), [WirelessRecording.message(WirelessRecording.station)])
        let next = table.next()
        #expect(next == nil && table.interfaces == before)
    }

    @Test func `counts a roam, which is another access point of the same network without a loss between`() {
        var table = associated()
        answer(&table, .interfaces, [WirelessRecording.message(WirelessRecording.interface)])
        answer(&table, .station(index: 2), [station(at: [2, 0, 0, 0, 2, 0])])
        answer(&table, .networks(index: 2), roamed)
        #expect(table.interfaces[2]?.roams == 1 && table.interfaces[2]?.bssid == [2, 0, 0, 0, 2, 0])
        #expect(table.interfaces[2]?.frequency == 2462)
    }

    @Test(
        arguments: [(1, false, 2, 1), (1, false, 4, 0), (1, true, 2, 0), (3, false, 2, 0)]
            as [(UInt8, Bool, Int, UInt64)]
    )
    func `counts a roam that mac80211 begins by ending the association itself`(
        reason: UInt8,
        isByAccessPoint: Bool,
        seconds: Int,
        expected: UInt64
    ) throws {
        var table = associated()
        var frame = WirelessRecording.message(WirelessRecording.goodbye)
        frame.attributes[51]?[24] = reason
        var event = WirelessRecording.message(WirelessRecording.disconnected)
        event.attributes[3] = [2, 0, 0, 0]
        event.attributes[54] = [reason, 0]
        if !isByAccessPoint { event.attributes[71] = nil }
        for message in [frame, event] {
            _ = table.apply(try #require(WirelessMessage.event(message)), at: .seconds(100))
        }
        answer(&table, .interfaces, [WirelessRecording.message(WirelessRecording.interface)])
        answer(&table, .station(index: 2), [])
        answer(&table, .interfaces, [WirelessRecording.message(WirelessRecording.interface)])
        answer(&table, .station(index: 2), [station(at: [2, 0, 0, 0, 2, 0])])
        answer(&table, .networks(index: 2), roamed, at: .seconds(100 + seconds))
        #expect(table.interfaces[2]?.roams == expected)
        #expect(table.interfaces[2]?.roamedFrom == (expected == 1 ? [2, 0, 0, 0, 1, 0] : nil))
    }

    @Test func `counts no roam after the access point ended the association`() throws {
        var table = associated()
        let goodbye = try #require(WirelessMessage.event(WirelessRecording.message(WirelessRecording.goodbye)))
        let changed = table.apply(goodbye, at: .zero)
        #expect(changed && table.interfaces[2]?.isAuthorized == nil)
        answer(&table, .interfaces, [WirelessRecording.message(WirelessRecording.interface)])
        answer(&table, .station(index: 2), [station(at: [2, 0, 0, 0, 2, 0])])
        answer(&table, .networks(index: 2), roamed)
        #expect(table.interfaces[2]?.roams == 0 && table.interfaces[2]?.bssid == [2, 0, 0, 0, 2, 0])
    }

    @Test func `forgets the association when the access point is gone, but not which network it was`() {
        var table = associated()
        answer(&table, .interfaces, [WirelessRecording.message(WirelessRecording.interface)])
        answer(&table, .station(index: 2), [])
        let facts = table.interfaces[2]
        #expect(facts?.bssid == nil && facts?.ssid == nil && facts?.signal == nil && facts?.isAuthorized == nil)
        #expect(facts?.network == Array("office-7".utf8) && !table.isAssociated)
        #expect(facts?.clause == "not associated")
    }

    @Test func `knows a wrong passphrase, until the network accepts another one or the interface is set down`() throws {
        var table = WirelessTable()
        var interface = WirelessRecording.message(WirelessRecording.interface)
        interface.attributes[3] = [6, 0, 0, 0]
        answer(&table, .interfaces, [interface])
        answer(&table, .station(index: 6), [])
        var unauthorized = station(at: [2, 0, 0, 0, 1, 0])
        unauthorized.attributes[3] = [6, 0, 0, 0]
        // NL80211_STA_INFO_STA_FLAGS, without NL80211_STA_FLAG_AUTHORIZED among the flags that are set.
        let information = try #require(unauthorized.attributes[21])
        let flags = try #require(information.indices.first { information[$0...].starts(with: [12, 0, 17, 0]) })
        unauthorized.attributes[21]?[flags + 8] &= ~2
        for bytes in [WirelessRecording.authenticated, WirelessRecording.connected] {
            _ = table.apply(try #require(WirelessMessage.event(WirelessRecording.message(bytes))), at: .zero)
        }
        answer(&table, .interfaces, [interface])
        answer(&table, .station(index: 6), [unauthorized])
        #expect(table.isWaiting && table.interfaces[6]?.isAuthorized == false)
        answer(&table, .networks(index: 6), [])
        let end = try #require(WirelessMessage.event(WirelessRecording.message(WirelessRecording.deauthenticated)))
        _ = table.apply(end, at: .zero)
        // It was over before the results of the scan were read: they have the name.
        var found = WirelessRecording.message(WirelessRecording.associated)
        found.attributes[3] = [6, 0, 0, 0]
        answer(&table, .networks(index: 6), [found])
        #expect(table.interfaces[6]?.refusal == WirelessFacts.Refusal(ssid: Array("office-7".utf8)))
        var down = table
        let isChanged = down.setDown(6)
        let isChangedAgain = down.setDown(6)
        #expect(isChanged && !isChangedAgain && down.interfaces[6]?.refusal == nil)
        answer(&table, .interfaces, [interface])
        var station = station(at: [2, 0, 0, 0, 1, 0])
        station.attributes[3] = [6, 0, 0, 0]
        answer(&table, .station(index: 6), [station])
        #expect(table.interfaces[6]?.refusal == nil && table.interfaces[6]?.isAuthorized == true)
    }

    @Test func `takes over the interfaces at the end of the dump, not before`() {
        var table = WirelessTable()
        table.enqueue(.interfaces)
        _ = table.next()
        table.sent(1)
        #expect(table.receive(interface(5, ssid: "home"), at: .zero) == WirelessTable.Outcome())
        #expect(table.interfaces.isEmpty)
        #expect(table.receive(end(1), at: .zero) == WirelessTable.Outcome(isChanged: true, isFinished: true))
        #expect(table.interfaces == [5: WirelessFacts(mode: 2, ssid: Array("home".utf8))])
    }

    @Test func `says nothing changed when nothing did`() {
        var table = table([interface(5)])
        table.enqueue(.interfaces)
        _ = table.next()
        table.sent(2)
        _ = table.receive(interface(5, sequence: 2), at: .zero)
        #expect(table.receive(end(2), at: .zero) == WirelessTable.Outcome(isFinished: true))
    }

    @Test func `forgets interfaces that are gone`() {
        var table = table([interface(5), interface(6)])
        #expect(table.interfaces.count == 2)
        load(&table, [interface(6)])
        #expect(Array(table.interfaces.keys) == [6])
    }

    @Test func `asks one question at a time, each once`() {
        var table = WirelessTable()
        for _ in 0..<3 {
            table.enqueue(.interfaces)
            table.enqueue(.station(index: 5))
        }
        #expect(table.next() == .interfaces)
        #expect(table.next() == nil)
        table.sent(1)
        _ = table.receive(end(1), at: .zero)
        #expect(table.next() == .station(index: 5))
        table.sent(2)
        _ = table.receive(end(2), at: .zero)
        #expect(table.next() == nil)
    }

    @Test func `asks again when something happens during a dump`() {
        var table = WirelessTable()
        table.enqueue(.interfaces)
        _ = table.next()
        table.enqueue(.interfaces)
        table.sent(1)
        #expect(table.receive(end(1), at: .zero).isFinished)
        #expect(table.next() == .interfaces)
    }

    @Test func `does not take the answer to one question for that to another`() {
        var table = table([interface(5)])
        table.enqueue(.interfaces)
        _ = table.next()
        table.sent(7)
        #expect(table.receive(end(6), at: .zero) == WirelessTable.Outcome())
        #expect(table.receive(interface(9, sequence: 6), at: .zero) == WirelessTable.Outcome())
        #expect(table.receive(end(7), at: .zero).isFinished)
        #expect(table.interfaces.isEmpty)
        #expect(table.receive(end(7), at: .zero) == WirelessTable.Outcome())
    }

    @Test func `keeps what it knows when the kernel refuses`() {
        var table = table([interface(5)])
        table.enqueue(.interfaces)
        _ = table.next()
        table.sent(2)
        let outcome = table.receive(end(2, error: true), at: .zero)
        #expect(outcome.isFinished && !outcome.isChanged && outcome.refusal != nil)
        #expect(table.interfaces.count == 1)
    }

    @Test func `samples clients of a network only`() {
        let table = table([interface(5), interface(6, mode: 3), interface(7, mode: 8), interface(8, mode: 6)])
        #expect(table.stations == [.station(index: 5), .station(index: 7)])
    }

    @Test func `begins anew after an overrun, and forgets all without the family`() {
        var table = table([interface(5)])
        table.enqueue(.interfaces)
        _ = table.next()
        table.forgetQuestions()
        #expect(table.next() == nil)
        #expect(table.interfaces.count == 1)
        table.enqueue(.interfaces)
        #expect(table.next() == .interfaces)
        table.removeAll()
        #expect(table == WirelessTable())
    }

    @Test func `is bounded`() {
        var table = WirelessTable()
        for index in 0..<5000 { table.enqueue(.station(index: index)) }
        var count = 0
        while table.next() != nil {
            table.sent(1)
            _ = table.receive(end(1), at: .zero)
            count += 1
        }
        #expect(count == WirelessTable.limit)
    }
}
