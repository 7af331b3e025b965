// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import Testing

private func record(_ strings: String...) -> TextRecord { TextRecord(strings: strings.map { Array($0.utf8) }) }

@Suite struct TextRecordTests {
    @Test func `tells a key without value from one with an empty value`() {
        let text = record("note", "rp=", "x=1")
        #expect(
            text.entries == [
                .init(key: "note", value: nil), .init(key: "rp", value: []), .init(key: "x", value: [49]),
            ]
        )
        #expect(text["absent"] == nil)
        #expect(text["NOTE"]?.value == nil)
        #expect(text["note"] != nil)
        #expect(text["rp"]?.value == [])
    }

    @Test(arguments: [
        (["a=1", "a=2"], ["a=1"]), (["Key=1", "kEY"], ["Key=1"]), (["=x", "y=1"], ["y=1"]), (["=", "y"], ["y"]),
        (["k=a=b"], ["k=a=b"]), (["ü=1", "z=1"], ["z=1"]), (["sp ace=1"], ["sp ace=1"]), (["a\n=1"], []),
        (["k", "K=2", "j"], ["k", "j"]),
    ])
    func `follows the rules for keys`(strings: [String], kept: [String]) {
        let text = TextRecord(strings: strings.map { Array($0.utf8) })
        let entries = text.entries.map { entry in
            entry.key + (entry.value.map { "=" + String(decoding: $0, as: UTF8.self) } ?? "")
        }
        #expect(entries == kept)
        #expect(text.strings.count == strings.count)
    }

    @Test(arguments: [[0], []] as [[UInt8]])
    func `reads one empty string and no data alike`(data: [UInt8]) {
        #expect(TextRecord(data: data) == TextRecord(strings: []))
        #expect(TextRecord(data: data).data == [0])
    }

    @Test(
        arguments: [
            ([1, 97, 0, 1, 98] as [UInt8], [[97], [98]] as [[UInt8]]), ([2, 97], []), ([1, 97, 9, 98], [[97]]),
            ([255], []),
        ] as [([UInt8], [[UInt8]])]
    )
    func `is total on broken data`(data: [UInt8], strings: [[UInt8]]) {
        #expect(TextRecord(data: data).strings == strings)
    }

    @Test func `keeps opaque values and makes the same bytes again`() {
        let entries = [
            TextRecord.Entry(key: "bin", value: [0, 61, 255, 10]), .init(key: "flag", value: nil),
            .init(key: "empty", value: []),
        ]
        let text = TextRecord(entries: entries)
        #expect(text.entries == entries)
        #expect(TextRecord(data: text.data) == text)
    }

    @Test func `cuts strings at 255 bytes`() {
        let text = TextRecord(strings: [[UInt8](repeating: 97, count: 300)])
        #expect(text.strings[0].count == 255)
        #expect(text.data.count == 256)
    }
}
