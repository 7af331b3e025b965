// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TestSupport

/// What `ip -j -d link` prints of one link.
struct PrintedLink: Decodable, Equatable {
    struct Information: Decodable, Equatable {
        var info_kind: String?
        var info_slave_kind: String?
    }

    var ifindex: Int
    var ifname: String
    var flags: [String]
    var mtu: Int
    var operstate: String
    var linkmode: String
    var address: String?
    var master: String?
    var link: String?
    var link_netnsid: Int?
    var linkinfo: Information?
}

/// What `ip -j address` prints of one interface.
struct PrintedAddresses: Decodable {
    struct Address: Decodable {
        var family: String
        var local: String
        var prefixlen: Int
        var scope: String
        var tentative: Bool?
        var deprecated: Bool?
        var valid_life_time: UInt32
        var preferred_life_time: UInt32
    }

    var ifindex: Int
    var addr_info: [Address]
}

/// What `ip -j neigh` prints of one entry.
struct PrintedNeighbor: Decodable {
    var dst: String
    var dev: String
    var lladdr: String?
    var state: [String]
}

extension Namespace {
    /// Reads what `ip -j` prints.
    func printed<Printed: Decodable>(_ words: String, as type: Printed.Type) throws -> [Printed] {
        try JSONDecoder().decode([Printed].self, from: Data(ip("-j \(words)").utf8))
    }
}
