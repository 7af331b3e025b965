// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Foundation
@testable import Network
import Testing

@Suite struct NWTXTRecordTests {
    /// The data of a TXT record with these strings.
    private func data(_ strings: String...) -> Data {
        strings.reduce(into: Data()) { data, string in
            data.append(UInt8(string.utf8.count))
            data.append(contentsOf: string.utf8)
        }
    }

    @Test func `goes through data and back`() {
        var record = NWTXTRecord(["path": "/x", "b": "2"])
        record.setEntry(.none, for: "flag")
        record.setEntry(.empty, for: "nothing")
        record.setEntry(.data(Data([0xFF, 0])), for: "raw")
        let again = NWTXTRecord(record.data)
        #expect(again == record)
        #expect(again.data == record.data)
        #expect(again.getEntry(for: "flag") == NWTXTRecord.Entry.none)
        #expect(again.getEntry(for: "nothing") == .empty)
        #expect(again.getEntry(for: "raw") == .data(Data([0xFF, 0])))
        #expect(again.getEntry(for: "path") == .string("/x"))
    }

    @Test func `an empty record is one zero byte`() {
        #expect(NWTXTRecord().data == Data([0]))
        #expect(NWTXTRecord(Data([0])) == NWTXTRecord())
        #expect(NWTXTRecord(Data()).isEmpty)
    }

    @Test func `reads what others write`() {
        let record = NWTXTRecord(data("a=1", "A=2", "=x", "flag", "e=", "t=a=b"))
        #expect(record.dictionary == ["a": "1", "flag": "", "e": "", "t": "a=b"])
        #expect(record.map(\.key) == ["a", "flag", "e", "t"])
        #expect(record.count == 4)
    }

    @Test func `drops a string that runs past the end`() {
        #expect(NWTXTRecord(data("a=1") + Data([200, 65])).dictionary == ["a": "1"])
    }

    @Test func `compares keys without regard to case`() {
        var record = NWTXTRecord(["Path": "/"])
        #expect(record["path"] == "/" && record["PATH"] == "/")
        record["pAtH"] = "/new"
        #expect(record.dictionary == ["Path": "/new"])
        #expect(record == NWTXTRecord(["path": "/new"]))
        #expect(record.hashValue == NWTXTRecord(["path": "/new"]).hashValue)
        let isRemoved = record.removeEntry(key: "PATH")
        #expect(isRemoved && record.isEmpty)
    }

    @Test func `removes by nil, and tells when there was nothing`() {
        var record = NWTXTRecord(["a": "1"])
        record["a"] = nil
        #expect(record.isEmpty && record["a"] == nil)
        let isRemoved = record.removeEntry(key: "a")
        #expect(!isRemoved)
    }

    @Test(arguments: ["", "a=b", "ü", "tab\t", String(repeating: "k", count: 255)])
    func `refuses keys that are not valid`(key: String) {
        var record = NWTXTRecord()
        let isSet = record.setEntry(.string("x"), for: key)
        #expect(!isSet && record.isEmpty)
        record[key] = "x"
        #expect(record.isEmpty && record.getEntry(for: key) == nil)
        let isRemoved = record.removeEntry(key: key)
        #expect(!isRemoved)
    }

    @Test func `a string has at most 255 bytes`() {
        var record = NWTXTRecord()
        let fits = record.setEntry(.string(String(repeating: "v", count: 253)), for: "k")
        #expect(fits && record.data.count == 256)
        let isTooLong = !record.setEntry(.string(String(repeating: "v", count: 254)), for: "k")
        #expect(isTooLong)
        #expect(record["k"]?.utf8.count == 253, "what was there stays")
        let isKey = record.setEntry(.none, for: String(repeating: "k", count: 254))
        #expect(isKey)
    }

    @Test func `an empty text is an empty entry`() {
        var record = NWTXTRecord(["a": ""])
        #expect(record.getEntry(for: "a") == .empty)
        record.setEntry(.string(""), for: "b")
        #expect(record.getEntry(for: "b") == .empty)
        record.setEntry(.data(Data("text".utf8)), for: "c")
        #expect(record.getEntry(for: "c") == .string("text"))
    }

    @Test func `keeps the order of entries`() {
        var record = NWTXTRecord()
        for key in ["z", "a", "m"] { record[key] = key }
        record["z"] = "again"
        #expect(record.map(\.key) == ["z", "a", "m"])
        #expect(record[record.startIndex].value == .string("again"))
        #expect(record.debugDescription == #"["z": "again", "a": "a", "m": "m"]"#)
        #expect(NWTXTRecord().debugDescription == "[:]")
        record.setEntry(.data(Data([0xFF])), for: "z")
        #expect(record.debugDescription.hasPrefix(#"["z": 1 bytes"#))
    }

    @Test func `is equal in any order`() {
        var left = NWTXTRecord()
        left["a"] = "1"
        left["b"] = "2"
        var right = NWTXTRecord()
        right["b"] = "2"
        right["a"] = "1"
        #expect(left == right)
        right["b"] = "3"
        #expect(left != right)
    }
}
