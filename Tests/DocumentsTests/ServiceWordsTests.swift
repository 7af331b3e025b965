// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import MulticastDNS
import OrderedJSON
import Testing

@testable import Documents

/// The table of plain words for types.
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
}
