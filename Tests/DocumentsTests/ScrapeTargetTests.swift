// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Documents
@testable import MulticastDNS
import OrderedJSON
import Testing

@Suite struct ScrapeTargetTests {
    private func addresses(_ texts: String) -> [ScopedAddress] {
        texts.split(separator: " ").map { text in
            let parts = text.split(separator: "%").map(String.init)
            return ScopedAddress(.of(parts[0]), scope: parts.count == 2 ? parts[1] : nil)
        }
    }

    private func label(_ target: ScrapeTarget?, _ name: String) -> String? { target?.labels[name]?.string }

    private func service(path: String) -> Service {
        Sample.service { $0.text = [TextRecord.Entry(key: "path", value: Array(path.utf8))] }
    }

    @Test func `a service is one address with labels, as http_sd wants it`() throws {
        let service = Sample.service {
            $0.text.append(TextRecord.Entry(key: "path", value: Array("/probe".utf8)))
        }
        let expected = """
            [
              {
                "targets": [
                  "192.0.2.60:631"
                ],
                "labels": {
                  "__meta_nwpath_name": "Office Printer",
                  "__meta_nwpath_type": "_ipp._tcp",
                  "__meta_nwpath_domain": "local",
                  "__meta_nwpath_host": "printer.local",
                  "__meta_nwpath_port": "631",
                  "__meta_nwpath_interface": "eth0",
                  "__meta_nwpath_family": "ipv4",
                  "__meta_nwpath_addresses": ",192.0.2.60,fe80::60%eth0,",
                  "__meta_nwpath_txt_txtvers": "1",
                  "__meta_nwpath_txtpresent_txtvers": "true",
                  "__meta_nwpath_txt_note": "",
                  "__meta_nwpath_txtpresent_note": "true",
                  "__meta_nwpath_txt_raw": "hex:ff0a",
                  "__meta_nwpath_txtpresent_raw": "true",
                  "__meta_nwpath_txt_empty": "",
                  "__meta_nwpath_txtpresent_empty": "true",
                  "__meta_nwpath_txt_path": "/probe",
                  "__meta_nwpath_txtpresent_path": "true",
                  "__metrics_path__": "/probe"
                }
              }
            ]
            """
        let text = try OrderedJSONEncoder(style: .pretty).encode(ScrapeTarget.list([service]))
        #expect(String(decoding: text, as: UTF8.self) == expected)
        _ = try shown(ScrapeTarget.list([service]), .list(of: ScrapeTarget.form))
    }

    @Test(
        arguments: [
            ("192.0.2.1 2001:db8::1 fd00::1 169.254.3.4 fe80::1%eth0", "192.0.2.1:631"),
            ("fe80::1%eth0 169.254.3.4 fd00::1 2001:db8::1", "[2001:db8::1]:631"),
            ("fe80::1%eth0 169.254.3.4 fd00::1", "[fd00::1]:631"), ("fe80::1%eth0 169.254.3.4", "169.254.3.4:631"),
            ("fe80::1%eth0", "[fe80::1%eth0]:631"), ("192.0.2.9 192.0.2.10", "192.0.2.9:631"),
            ("127.0.0.1 ::1 0.0.0.0 :: 224.0.0.1 ff02::1%eth0 fe80::1", nil), ("", nil),
        ] as [(String, String?)]
    )
    func `the address that suits best is taken, and never one of this machine`(list: String, target: String?) {
        let service = Sample.service { $0.addresses = addresses(list) }
        #expect(ScrapeTarget.list([service]).first?.targets == target.map { [$0] })
    }

    @Test(
        arguments: [
            (.ipv4, "192.0.2.60:631"), (.ipv6, "[fe80::60%eth0]:631"), (nil, "192.0.2.60:631"),
        ] as [(AddressFamily?, String)]
    )
    func `one family can be demanded`(family: AddressFamily?, target: String) {
        let targets = ScrapeTarget.list([Sample.service()], family: family)
        #expect(targets.map(\.targets) == [[target]])
        #expect(label(targets.first, "__meta_nwpath_family") == (family ?? .ipv4).rawValue)
    }

    @Test func `what is heard on two interfaces is one target, by the better address`() {
        let far = Sample.service {
            $0.interface = "wlan0"
            $0.addresses = addresses("192.0.2.61")
        }
        let near = Sample.service { $0.addresses = addresses("fe80::60%eth0") }
        let targets = ScrapeTarget.list([near, far])
        #expect(targets.map(\.targets) == [["192.0.2.61:631"]])
        #expect(label(targets.first, "__meta_nwpath_interface") == "wlan0")
    }

    @Test func `the same name on another host or port is another target`() {
        let other = Sample.service {
            $0.host = "other.local"
            $0.addresses = addresses("192.0.2.61")
        }
        let third = Sample.service { $0.port = 632 }
        let targets = ScrapeTarget.list([third, other, Sample.service()])
        #expect(targets.map(\.targets) == [["192.0.2.61:631"], ["192.0.2.60:631"], ["192.0.2.60:632"]])
        #expect(ScrapeTarget.list([other, Sample.service(), third]) == targets)
    }

    @Test(
        arguments: [
            ("/metrics", "/metrics"), ("/a/b-c_~%20", "/a/b-c_~%20"), ("/", "/"), ("metrics", nil), ("", nil),
            ("/m?x=1", nil), ("/m#f", nil), ("/a b", nil), ("/\u{1B}[31m", nil), ("/ü", nil), ("/m\n", nil),
        ] as [(String, String?)]
    )
    func `the path of the TXT record is scraped when it is one`(value: String, path: String?) {
        let target = ScrapeTarget.list([service(path: value)]).first
        #expect(label(target, "__metrics_path__") == path)
        #expect(label(target, "__meta_nwpath_txt_path") == value)
    }

    @Test func `keys become label names, and the first of two that clash counts`() throws {
        let service = Sample.service {
            $0.text = ["a-b", "a.b", "A-b", "9", "x y\"{}"].enumerated().map { index, key in
                TextRecord.Entry(key: key, value: Array("\(index)".utf8))
            }
        }
        let target = try #require(ScrapeTarget.list([service]).first)
        #expect(label(target, "__meta_nwpath_txt_a_b") == "0")
        #expect(label(target, "__meta_nwpath_txt_A_b") == "2")
        #expect(label(target, "__meta_nwpath_txt_9") == "3")
        #expect(label(target, "__meta_nwpath_txt_x_y___") == "4")
        let letters = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
        #expect(target.labels.keys.allSatisfy { $0.hasPrefix("__me") && letters.isSuperset(of: $0) })
    }

    @Test func `nothing is an empty list, as http_sd wants it`() throws {
        #expect(try OrderedJSONEncoder().encode(ScrapeTarget.list([])) == Array("[]".utf8))
    }
}
