// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Documents
import LinuxIO
import Netlink
import OrderedJSON
import PathModel
import Testing

@Suite struct InterfaceDocumentTests {
    private let now = Duration.seconds(1100)

    @Test func `an interface shows link, verdict and addresses`() throws {
        var view = Sample.interface(addresses: [Sample.address6, Sample.address4])
        view.alternativeNames = ["enp0s31f6"]
        let expected = """
            {
              "name": "eth0",
              "alternative_names": [
                "enp0s31f6"
              ],
              "index": 2,
              "type": "wiredEthernet",
              "kind": null,
              "up": true,
              "carrier": true,
              "operstate": "up",
              "mtu": 1500,
              "usable": true,
              "problem": null,
              "master": null,
              "hardware_address": "02:00:5e:10:00:0f",
              "carrier_changes": 3,
              "required": false,
              "ignored": false,
              "is_expensive": false,
              "is_constrained": false,
              "addresses": [
                {
                  "address": "192.0.2.10",
                  "prefix_length": 24,
                  "family": "ipv4",
                  "scope": "global",
                  "flags": [],
                  "valid_seconds": null
                },
                {
                  "address": "2001:db8::10",
                  "prefix_length": 64,
                  "family": "ipv6",
                  "scope": "global",
                  "flags": [
                    "temporary",
                    "deprecated",
                    "dynamic"
                  ],
                  "valid_seconds": 500
                }
              ],
              "link_local_only": false
            }
            """
        #expect(try pretty(InterfaceDocument(view, at: now)) == expected)
        _ = try shown(InterfaceDocument(view, at: now), InterfaceDocument.form)
    }

    @Test func `a station shows its network, and a name that is no text by its bytes`() throws {
        var view = Sample.interface()
        view.wifi = WirelessFacts(
            mode: 2,
            ssid: Array("office-7".utf8),
            signal: -47,
            bssid: [2, 0, 0, 0, 1, 0],
            frequency: 5180,
            receiveRate: 866_700_000,
            transmitRate: 780_000_000,
            isAuthorized: true
        )
        let wifi = try #require(shown(InterfaceDocument(view, at: now), InterfaceDocument.form)["wifi"])
        let text =
            #"{"associated":true,"ssid":"office-7","bssid":"02:00:00:00:01:00","frequency_mhz":5180,"#
            + #""band":"5","signal_dbm":-47,"#
            + #""rx_bits_per_second":866700000,"tx_bits_per_second":780000000,"authorized":true}"#
        #expect(try OrderedJSONEncoder().string(wifi) == text)
        view.wifi = WirelessFacts(mode: 2, ssid: [0xFF, 0x41])
        let odd = try #require(shown(InterfaceDocument(view, at: now), InterfaceDocument.form)["wifi"])
        #expect(odd["ssid"] == .null && odd["ssid_hex"]?.string == "ff41" && odd["associated"] == .bool(false))
    }

    @Test(arguments: UnusableReason.allCases)
    func `what keeps an interface from traffic has a word`(unusableReason: UnusableReason) throws {
        var view = Sample.interface()
        view.isUsable = false
        view.unusableReason = unusableReason
        let value = try shown(InterfaceDocument(view, at: now), InterfaceDocument.form)
        #expect(value["usable"] == .bool(false))
        #expect(value["problem"]?.string == unusableReason.rawValue)
    }

    @Test(arguments: OperationalState.allCases)
    func `the operational state has iproute2's word in small letters`(state: OperationalState) throws {
        var view = Sample.interface()
        view.operationalState = state
        let word = try #require(shown(InterfaceDocument(view, at: now), InterfaceDocument.form)["operstate"]?.string)
        #expect(word == word.lowercased() && !word.isEmpty)
        #expect(word == state.word)
    }

    @Test(arguments: InterfaceType.allCases)
    func `the type is Apple's word`(type: InterfaceType) throws {
        var view = Sample.interface()
        view.type = type
        let value = try shown(InterfaceDocument(view, at: now), InterfaceDocument.form)
        #expect(value["type"]?.string == type.rawValue)
    }

    @Test func `what a link lacks is null, never left out`() throws {
        let view = Sample.interface { $0.hardwareAddress = [] }
        let value = try shown(InterfaceDocument(view, at: now), InterfaceDocument.form)
        for key in ["kind", "problem", "master", "hardware_address"] {
            #expect(key == "problem" || value[key] == .null)
            #expect(value.object?.keys.contains(key) == true)
        }
        #expect(value.object?.keys.count == 20)
    }

    @Test(
        arguments: [
            ([], false), (["192.0.2.1"], false), (["169.254.7.9"], true), (["169.254.7.9", "fe80::1"], true),
            (["fe80::1"], false), (["169.254.7.9", "192.0.2.1"], false), (["169.254.7.9", "2001:db8::1"], false),
            (["169.254.7.9", "169.254.7.10"], true),
        ] as [([String], Bool)]
    )
    func `an interface that gave itself its only address says so (RFC 3927)`(addresses: [String], isOnly: Bool) {
        var view = Sample.interface()
        view.addresses = addresses.map { text in
            var address = Sample.address4
            address.address = .of(text)
            return AddressView(HeldAddress(address, receivedAt: .zero))
        }
        #expect(InterfaceDocument(view, at: now).linkLocalOnly == isOnly)
    }

    @Test func `what the operator decided is shown`() throws {
        var view = Sample.interface()
        view.isRequired = true
        view.isIgnored = true
        view.isExpensive = true
        view.isConstrained = true
        view.master = "br0"
        view.kind = "veth"
        let value = try shown(InterfaceDocument(view, at: now), InterfaceDocument.form)
        for key in ["required", "ignored", "is_expensive", "is_constrained"] { #expect(value[key] == .bool(true)) }
        #expect(value["master"]?.string == "br0" && value["kind"]?.string == "veth")
    }

    @Test func `an interface named in passing has name and index`() throws {
        let reference = InterfaceReference(Sample.interface())
        #expect(try OrderedJSONEncoder().string(reference) == #"{"name":"eth0","index":2}"#)
    }
}

@Suite struct AddressDocumentTests {
    private func document(
        _ address: InterfaceAddress,
        told: Duration = .seconds(1000),
        at now: Duration
    ) -> AddressDocument {
        AddressDocument(AddressView(HeldAddress(address, receivedAt: told)), at: now)
    }

    @Test(arguments: [(1000, 600), (1001, 599), (1599, 1), (1600, 0), (2000, 0)])
    func `the remaining lifetime runs down to zero`(now: Int, seconds: Int) {
        #expect(document(Sample.address6, at: .seconds(now)).validSeconds == seconds)
    }

    @Test func `an address for ever has no lifetime`() throws {
        let text = try OrderedJSONEncoder().string(document(Sample.address4, at: .seconds(5000)))
        #expect(text.hasSuffix(#""valid_seconds":null}"#))
    }

    @Test(
        arguments: [
            (.permanent, []), ([], ["dynamic"]), ([.permanent, .tentative], ["tentative"]),
            ([.permanent, .duplicateDetected], ["dadfailed"]), ([.permanent, .optimistic], ["optimistic"]),
            (
                [.temporary, .deprecated, .tentative, .duplicateDetected, .optimistic],
                ["temporary", "deprecated", "tentative", "dadfailed", "optimistic", "dynamic"]
            ),
        ] as [(AddressFlags, [String])]
    )
    func `flags are words in a fixed order`(flags: AddressFlags, expected: [String]) {
        var address = Sample.address4
        address.flags = flags
        #expect(document(address, at: .zero).flags == expected)
    }

    @Test(
        arguments: [(0, "global"), (200, "site"), (253, "link"), (254, "host"), (255, "nowhere"), (7, "nowhere")]
            as [(UInt8, String)]
    )
    func `scopes are ip-address's words`(scope: UInt8, word: String) {
        var address = Sample.address4
        address.scope = scope
        #expect(document(address, at: .zero).scope == word)
    }
}
