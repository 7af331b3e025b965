// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import Documents
import LinuxIO
@testable import MulticastDNS
import OrderedJSON
import TestSupport
import Testing

@Suite struct ServiceDocumentTests {
    private let clock = ManualClock()

    @Test func `a service shows host, port, addresses, pairs and times`() throws {
        let expected = """
            {
              "name": "Office Printer",
              "type": "_ipp._tcp",
              "type_name": "Printer",
              "domain": "local",
              "interface": {
                "name": "eth0"
              },
              "host": "printer.local",
              "port": 631,
              "addresses": [
                "192.0.2.60",
                "fe80::60%eth0"
              ],
              "txt": {
                "txtvers": "1",
                "note": null,
                "raw": "hex:ff0a",
                "empty": ""
              },
              "txt_meanings": {
                "txtvers": "version of these texts",
                "note": "place"
              },
              "txt_raw": [
                "txtvers=1",
                "note",
                "raw=\\\\255\\\\010",
                "empty="
              ],
              "ttl_seconds": 4500,
              "first_seen": "2026-11-20T11:59:00.000000000Z",
              "last_seen": "2026-11-20T11:59:59.500000000Z"
            }
            """
        #expect(try pretty(ServiceDocument(Sample.service(), clock: clock)) == expected)
        _ = try shown(ServiceDocument(Sample.service(), clock: clock), ServiceDocument.form)
    }

    @Test func `times follow the calendar when it is stepped`() {
        let before = ServiceDocument(Sample.service(), clock: clock)
        clock.step(wallBy: .seconds(3600))
        let after = ServiceDocument(Sample.service(), clock: clock)
        #expect(before.firstSeen == "2026-11-20T11:59:00.000000000Z")
        #expect(after.firstSeen == "2026-11-20T12:59:00.000000000Z")
    }

    @Test(
        arguments: [
            (-3600, "2026-11-20T11:00:00.000000000Z"), (-60, "2026-11-20T11:59:00.000000000Z"),
            (3600, "2026-11-20T11:59:00.000000000Z"),
        ] as [(Int64, String)]
    )
    func `what a history knows counts when it is earlier`(offset: Int64, expected: String) {
        let earlier = clock.wall + .seconds(offset)
        #expect(ServiceDocument(Sample.service(), clock: clock, firstSeen: earlier).firstSeen == expected)
    }

    @Test func `readings of two clocks that differ by less than their slack are one moment`() {
        let first = clock.wall + .seconds(-60)
        for (offset, counts) in [(ServiceDocument.clockSlack, true), (ServiceDocument.clockSlack * 2, false)] {
            let document = ServiceDocument(Sample.service(), clock: clock, firstSeen: first + offset)
            #expect(document.firstSeen == "\(counts ? first + offset : first)")
        }
    }

    @Test func `a service without text or addresses has empty members`() throws {
        let service = Sample.service {
            $0.text = []
            $0.rawText = []
            $0.addresses = []
        }
        let value = try shown(ServiceDocument(service, clock: clock), ServiceDocument.form)
        #expect(value["txt"] == .object(JSONObject()))
        #expect(value["txt_raw"] == .array([]) && value["addresses"] == .array([]))
        #expect(value["txt_meanings"] == .object(JSONObject()))
        #expect(value.object?.keys.count == 14)
    }

    @Test func `hostile text can break neither line nor terminal`() throws {
        let service = Sample.service {
            $0.text = [TextRecord.Entry(key: "k", value: Array("\u{1B}[31m\n\u{202E}".utf8))]
            $0.rawText = [Array("k=\u{1B}[31m\n\u{202E}".utf8)]
        }
        let document = ServiceDocument(service, clock: clock)
        #expect(document.txtRaw == ["k=\\027[31m\\010\\226\\128\\174"])
        let text = try OrderedJSONEncoder().string(document)
        #expect(!text.contains("\n") && !text.contains("\u{1B}"))
    }

    @Test(arguments: [(.milliseconds(999), 0), (.seconds(120), 120), (.zero, 0)] as [(Duration, Int)])
    func `lifetimes are whole seconds`(timeToLive: Duration, seconds: Int) {
        let service = Sample.service { $0.timeToLive = timeToLive }
        #expect(ServiceDocument(service, clock: clock).ttlSeconds == seconds)
    }
}
