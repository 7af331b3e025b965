// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import MulticastDNS
import OrderedJSON
import Testing

@testable import Documents

/// The tables of plain words for types and TXT keys.
@Suite struct ServiceWordsTests {
    /// Widely announced, and against the rules: an underscore, and one letter too many.
    private static let irregular: Set = ["_apt_proxy._tcp", "_androidtvremote2._tcp"]

    @Test func `each type stands once, in lower case, and obeys the rules for service names`() {
        let types = ServiceTypeNames.table.map(\.type)
        #expect(types.count >= 80 && Set(types).count == types.count)
        #expect(Self.irregular.isSubset(of: types))
        for type in types {
            #expect(type == type.lowercased(), "\(type)")
            let isRegular = (try? NameRules.serviceType(type)).map { "\($0)" == type + ".local" } ?? false
            #expect(isRegular != Self.irregular.contains(type), "\(type)")
        }
    }

    @Test func `names are short, plain and no type`() {
        for (type, name) in ServiceTypeNames.table {
            #expect((2...32).contains(name.count) && !name.hasPrefix("_") && name.allSatisfy(\.isASCII), "\(type)")
        }
    }

    @Test(
        arguments: [
            ("_ipp._tcp", "Printer"), ("_IPP._TCP", "Printer"), ("_hap._udp", "HomeKit accessory (Thread)"),
            ("_lamp._tcp", "_lamp._tcp"), ("_Lamp._tcp", "_Lamp._tcp"), ("_ipp._udp", "_ipp._udp"), ("", ""),
            ("_printer._sub._ipp._tcp", "_printer._sub._ipp._tcp"),
        ]
    )
    func `a type without a name is called as it is`(type: String, name: String) {
        #expect(ServiceTypeNames.name(of: type) == name)
        #expect(ServiceTypeNames.names(of: [type])[type]?.string == name)
    }

    @Test func `each group of keys is of types that have a name, its keys are in lower case and its words short`() {
        let types = Set(ServiceTypeNames.table.map(\.type))
        for group in TextKey.groups + [(types: [], keys: TextKey.common)] {
            #expect(types.isSuperset(of: group.types), "\(group.types)")
            for (key, meaning) in group.keys {
                #expect(key == key.lowercased() && (2...40).contains(meaning.words.count), "\(group.types) \(key)")
                #expect(key != meaning.words.lowercased(), "\(group.types) \(key)")
                guard case .word(let words) = meaning.values else { continue }
                #expect(words.keys.allSatisfy { $0 == $0.lowercased() }, "\(group.types) \(key)")
            }
        }
    }

    /// As CUPS, HomeKit, Matter, AirPlay, Chromecast and others publish them.
    @Test(
        arguments: [
            ("_ipp._tcp", "rp=printers/HP_LaserJet", "queue"), ("_ipps._tcp", "ty=HP LaserJet M404", "model"),
            ("_ipp._tcp", "note=Second floor", "place"), ("_IPP._tcp", "adminurl=http://hp.local.", "settings page"),
            ("_ipp._tcp", "Color=T", "colour: yes"), ("_ipp._tcp", "Duplex=F", "both sides: no"),
            ("_ipp._tcp", "Duplex=U", "both sides"), ("_printer._tcp", "printer-state=3", "state: idle"),
            ("_ipp._tcp", "pdl=application/pdf,image/urf", "formats"), ("_ipp._tcp", "air=none", "login: none"),
            ("_ipp._tcp", "UUID=1c852a4d-b800-1f08-abcd-308d99fa1234", "identifier"),
            ("_uscan._tcp", "is=platen,adf", "from: glass, feeder"),
            ("_uscan._tcp", "cs=binary,grayscale,color", "colours: black and white, grey, colour"),
            ("_http._tcp", "path=/admin", "page to begin with"), ("_sftp-ssh._tcp", "u=guest", "user name"),
            ("_airplay._tcp", "model=AppleTV11,1", "model of the hardware"),
            ("_airplay._tcp", "pw=1", "requires a password: yes"),
            ("_airplay._tcp", "srcvers=670.6.2", "version of AirPlay"),
            ("_raop._tcp", "cn=0,1,2,3", "sound formats: PCM, ALAC, AAC, AAC ELD"),
            ("_raop._tcp", "am=AudioAccessory5,1", "model"),
            ("_googlecast._tcp", "fn=Living Room", "name"), ("_googlecast._tcp", "st=0", "state: idle"),
            ("_googlecast._tcp", "ca=4101", "abilities: shows pictures, plays sound"),
            ("_hap._tcp", "ci=5", "category: light"), ("_hap._udp", "ci=99", "category"),
            ("_hap._tcp", "sf=0", "state: paired"), ("_hap._tcp", "sf=1", "state: not paired"),
            ("_hap._tcp", "sf=0x05", "state: not paired, has a problem"), ("_hap._tcp", "sf=8", "state"),
            ("_hap._tcp", "sf=-1", "state"), ("_hap._tcp", "sf=99999999999999999999", "state"),
            ("_hap._tcp", "c#=3", "number of the configuration"),
            ("_matterc._udp", "CM=1", "can be added: yes"), ("_matterc._udp", "D=3840", "number that identifies it"),
            ("_matterc._udp", "PH=33", "to add it: switch off and on, see its manual"),
            ("_matterc._udp", "DT=269", "kind: light, colour"), ("_matter._tcp", "T=0", "TCP: no"),
            ("_adisk._tcp", "dk0=adVN=Time Machine,adVF=0x82", "disk: name, abilities, identifier"),
            ("_adisk._tcp", "dk=adVN=x", nil), ("_device-info._tcp", "model=MacBookPro18,3", "model of the hardware"),
            ("_esphomelib._tcp", "friendly_name=Hall", "name"), ("_esphomelib._tcp", "board=esp32dev", "circuit board"),
            ("_home-assistant._tcp", "requires_api_password=True", "requires a password: yes"),
            ("_presence._tcp", "status=dnd", "state: do not disturb"),
            ("_lamp._tcp", "txtvers=1", "version of these texts"), ("_lamp._tcp", "ty=x", nil),
            ("_http._tcp", "constructor=x", nil), ("_http._tcp", "=x", nil), ("_http._tcp", "7=x", nil),
        ] as [(String, String, String?)]
    )
    func `a key says what it means, and its value where that is known`(type: String, pair: String, meaning: String?) {
        let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        #expect(TextKey.meaning(of: parts[0], value: parts[1], type: type) == meaning)
    }

    @Test func `a key without a value says what it is`() {
        #expect(TextKey.meaning(of: "Color", value: nil, type: "_ipp._tcp") == "colour")
    }
}
