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

    private func station(_ index: UInt8, _ signal: Int8, sequence: UInt32) -> Message {
        let info: [UInt8] = [5, 0, 13, 0, UInt8(bitPattern: signal), 0, 0, 0]
        let attributes: [UInt16: [UInt8]] = [3: [index, 0, 0, 0], 21: info]
        return Message(type: 30, sequence: sequence, command: 19, code: nil, attributes: attributes)
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
        table.ask(.interfaces)
        #expect(table.next() == .interfaces)
        table.sent(1)
        for message in messages { _ = table.receive(message) }
        _ = table.receive(end(1))
    }

    @Test func `takes over the interfaces at the end of the dump, not before`() {
        var table = WirelessTable()
        table.ask(.interfaces)
        _ = table.next()
        table.sent(1)
        #expect(table.receive(interface(5, ssid: "home")) == WirelessTable.Outcome())
        #expect(table.interfaces.isEmpty)
        #expect(table.receive(end(1)) == WirelessTable.Outcome(isChanged: true, isFinished: true))
        #expect(table.interfaces == [5: WirelessFacts(mode: 2, ssid: Array("home".utf8))])
    }

    @Test func `says nothing changed when nothing did`() {
        var table = table([interface(5)])
        table.ask(.interfaces)
        _ = table.next()
        table.sent(2)
        _ = table.receive(interface(5, sequence: 2))
        #expect(table.receive(end(2)) == WirelessTable.Outcome(isFinished: true))
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
            table.ask(.interfaces)
            table.ask(.station(index: 5))
        }
        #expect(table.next() == .interfaces)
        #expect(table.next() == nil)
        table.sent(1)
        _ = table.receive(end(1))
        #expect(table.next() == .station(index: 5))
        table.sent(2)
        _ = table.receive(end(2))
        #expect(table.next() == nil)
    }

    @Test func `asks again when something happens during a dump`() {
        var table = WirelessTable()
        table.ask(.interfaces)
        _ = table.next()
        table.ask(.interfaces)
        table.sent(1)
        #expect(table.receive(end(1)).isFinished)
        #expect(table.next() == .interfaces)
    }

    @Test func `does not take the answer to one question for that to another`() {
        var table = table([interface(5)])
        table.ask(.interfaces)
        _ = table.next()
        table.sent(7)
        #expect(table.receive(end(6)) == WirelessTable.Outcome())
        #expect(table.receive(interface(9, sequence: 6)) == WirelessTable.Outcome())
        #expect(table.receive(end(7)).isFinished)
        #expect(table.interfaces.isEmpty)
        #expect(table.receive(end(7)) == WirelessTable.Outcome())
    }

    @Test func `keeps what it knows when the kernel refuses`() {
        var table = table([interface(5)])
        table.ask(.interfaces)
        _ = table.next()
        table.sent(2)
        let outcome = table.receive(end(2, error: true))
        #expect(outcome.isFinished && !outcome.isChanged && outcome.refusal != nil)
        #expect(table.interfaces.count == 1)
    }

    @Test func `samples clients of a network only`() {
        let table = table([interface(5), interface(6, mode: 3), interface(7, mode: 8), interface(8, mode: 6)])
        #expect(table.stations == [.station(index: 5), .station(index: 7)])
    }

    @Test func `notes a signal, which lasts as long as the network`() {
        var table = table([interface(5, ssid: "home")])
        table.ask(.station(index: 5))
        _ = table.next()
        table.sent(2)
        #expect(table.receive(station(5, -61, sequence: 2)).isChanged)
        #expect(!table.receive(station(5, -61, sequence: 2)).isChanged)
        #expect(!table.receive(station(9, -61, sequence: 2)).isChanged)
        _ = table.receive(end(2))
        #expect(table.interfaces[5]?.signal == -61)
        load(&table, [interface(5, ssid: "home")])
        #expect(table.interfaces[5]?.signal == -61)
        load(&table, [interface(5, ssid: "office")])
        #expect(table.interfaces[5]?.signal == nil)
    }

    @Test func `begins anew after an overrun, and forgets all without the family`() {
        var table = table([interface(5)])
        table.ask(.interfaces)
        _ = table.next()
        table.forgetQuestions()
        #expect(table.next() == nil)
        #expect(table.interfaces.count == 1)
        table.ask(.interfaces)
        #expect(table.next() == .interfaces)
        table.removeAll()
        #expect(table == WirelessTable())
    }

    @Test func `is bounded`() {
        var table = WirelessTable()
        for index in 0..<5000 { table.ask(.station(index: index)) }
        var count = 0
        while table.next() != nil {
            table.sent(1)
            _ = table.receive(end(1))
            count += 1
        }
        #expect(count == WirelessTable.limit)
    }
}
