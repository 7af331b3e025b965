// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import TestSupport
import Testing

@testable import Providers

/// Values of every type, as a real bus delivers them.
@Suite(.inNamespace) struct BusReaderTests {
    private let loop = Namespace.current.loop
    private let name = "org.nwpath.Values"

    /// What a property with the given Python value reads as.
    private func read(_ values: [String]) async throws -> [Result<BusValue?, ProviderError>] {
        let bus = try PrivateBus()
        let fake = try bus.fake(name)
        let connection = bus.connect(loop, limit: .seconds(60))
        await loop.eventually(within: .seconds(15)) { (try? bus.tell(name, "pass")) != nil }
        await loop.eventually { connection.isReady }
        var results: [Result<BusValue?, ProviderError>] = []
        for (index, value) in values.enumerated() {
            try bus.tell(name, "add('/v/\(index)', org_nwpath_Values={'Value': \(value)})")
            let get = BusMethod(name, "/v/\(index)", "org.freedesktop.DBus.Properties", "Get")
            connection.call(get, ["org.nwpath.Values", "Value"]) { results.append($0.map(\.first)) }
            await loop.eventually { results.count == index + 1 }
        }
        connection.stop()
        _ = fake.processID
        return results
    }

    @Test func `reads every type by its own signature`() async throws {
        let table: [(String, BusValue)] = [
            ("True", .flag(true)), ("dbus.Byte(255)", .unsigned(255)), ("dbus.Int16(-2)", .signed(-2)),
            ("dbus.UInt16(65535)", .unsigned(65_535)), ("dbus.Int32(-2)", .signed(-2)),
            ("dbus.UInt32(4294967295)", .unsigned(4_294_967_295)), ("dbus.Int64(-2**63)", .signed(.min)),
            ("dbus.UInt64(2**64-1)", .unsigned(.max)), ("1.5", .real(1.5)), ("'text'", .text("text")),
            ("''", .text("")),
            ("dbus.ObjectPath('/a')", .text("/a")), ("dbus.Signature('a{sv}')", .text("a{sv}")),
            ("dbus.ByteArray(b'ab')", .bytes([97, 98])), ("dbus.Array([], signature='y')", .bytes([])),
            ("dbus.Array(['a','b'], signature='s')", .list([.text("a"), .text("b")])),
            ("dbus.Array([], signature='s')", .list([])), ("dbus.Array([], signature='a{sv}')", .list([])),
            ("dbus.Dictionary({'a': dbus.UInt32(1)}, signature='su')", .table(["a": .unsigned(1)])),
            ("dbus.Dictionary({}, signature='sv')", .table([:])),
            (
                "dbus.Dictionary({dbus.UInt32(1): 'a'}, signature='us')",
                .list([.list([.unsigned(1), .text("a")])])
            ),
            (
                "dbus.Struct((dbus.Int32(1), 'a', dbus.ByteArray(b'c')), signature='isay')",
                .list([.signed(1), .text("a"), .bytes([99])])
            ),
            (
                "dbus.Array([dbus.Dictionary({'a': dbus.String('b')}, signature='sv')], signature='a{sv}')",
                .list([.table(["a": .text("b")])])
            ),
        ]
        let results = try await read(table.map(\.0))
        for ((source, expected), result) in zip(table, results) {
            #expect(result == .success(expected), "\(source)")
        }
    }

    @Test func `refuses values that are nested deeply or are too many`() async throws {
        let deep =
            "__import__('functools').reduce(lambda v, _: dbus.Array([v], signature='v'), range(12), dbus.String(''))"
        let many = "dbus.Array([True] * 70000, signature='b')"
        let results = try await read([deep, many, "'still here'"])
        #expect(results[0] == .failure(.malformed(what: "nested too deeply")))
        #expect(results[1] == .failure(.malformed(what: "too many values")))
        #expect(results[2] == .success(.text("still here")))
    }

    @Test func `gives a value as what it is, and as nothing else`() {
        let values: [BusValue] = [
            .flag(true), .signed(-1), .unsigned(.max), .real(1), .text("a"), .bytes([1]), .list([]), .table([:]),
            .descriptor,
        ]
        #expect(values.map { $0.flag != nil } == [true, false, false, false, false, false, false, false, false])
        #expect(values.map { $0.number != nil } == [false, true, false, false, false, false, false, false, false])
        #expect(values.map { $0.text != nil } == [false, false, false, false, true, false, false, false, false])
        #expect(values.map { $0.bytes != nil } == [false, false, false, false, false, true, false, false, false])
        #expect(values.map { $0.list != nil } == [false, false, false, false, false, false, true, false, false])
        #expect(values.map { $0.table != nil } == [false, false, false, false, false, false, false, true, false])
    }
}
