// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink

/// Puts routes into the words of ip-route(8).
enum RouteText {
    /// The name of a routing table, or its number.
    static func name(ofTable table: UInt32) -> String {
        switch table {
        case 253: "default"
        case 254: "main"
        case 255: "local"
        default: "\(table)"
        }
    }

    /// Such as `default via 192.0.2.1 dev eth0 metric 100 (dhcp)`.
    static func line(_ answer: RouteAnswer, to destination: IPAddress, links: [Int: Link]) -> String {
        var words: [String] = []
        if let word = word(for: answer.type) { words.append(word) }
        words.append(prefix(answer.prefixLength, of: destination))
        if let id = answer.nexthopID { words.append("nhid \(id)") }
        if answer.nexthops.count == 1 {
            words.append(nexthop(answer.nexthops[0], links: links))
        } else if !answer.nexthops.isEmpty {
            words += answer.nexthops.map { "nexthop " + nexthop($0, links: links) }
        }
        if answer.metric > 0 { words.append("metric \(answer.metric)") }
        if let origin = origin(answer.origin) { words.append("(\(origin))") }
        if let seconds = answer.expiresIn { words.append("expires in \(Int(max(seconds, 0))) s") }
        let text = words.joined(separator: " ")
        guard !answer.unknownAttributes.isEmpty else { return text }
        return text + "; has something this version does not know: \(answer.unknownAttributes.asAttributes)"
    }

    /// A nexthop, such as `via 192.0.2.1 dev eth0 linkdown`.
    static func nexthop(_ nexthop: RouteNexthop, links: [Int: Link]) -> String {
        var words = nexthop.gateway.map { ["via \($0)"] } ?? []
        words.append("dev \(name(of: nexthop, links: links))")
        if nexthop.flags.contains(.dead) { words.append("dead") }
        if nexthop.flags.contains(.linkDown) { words.append("linkdown") }
        return words.joined(separator: " ")
    }

    static func name(of nexthop: RouteNexthop, links: [Int: Link]) -> String {
        links[nexthop.index]?.name ?? "interface \(nexthop.index)"
    }

    private static func prefix(_ length: Int, of destination: IPAddress) -> String {
        switch length {
        case 0: "default"
        case destination.family.bitWidth: "\(destination)"
        default: "\(IPPrefix(destination, length: length))"
        }
    }

    private static func word(for type: RouteType) -> String? {
        switch type {
        case .unspecified, .unicast: nil
        case .externalResolver: "xresolve"
        default: "\(type)"
        }
    }

    /// Who installed a route (`rtm_protocol`, linux/rtnetlink.h); routes added by hand are plain, as in ip-route(8).
    private static func origin(_ number: UInt8) -> String? {
        switch number {
        case 2: "kernel"
        case 4: "static"
        case 9: "ra"
        case 11: "zebra"
        case 12: "bird"
        case 16: "dhcp"
        case 0, 3: nil
        default: "proto \(number)"
        }
    }
}
