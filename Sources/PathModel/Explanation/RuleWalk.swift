// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink

/// The policy rules that a packet meets, in the kernel's order.
///
/// The kernel does not tell which rule led to its answer, so this reads them as it does: by rising priority, passing
/// over those whose selector does not fit the packet.
struct RuleWalk {
    /// The rules that fit, in the order the kernel comes to them.
    let rules: [PolicyRule]
    private let vrfTable: UInt32?

    /// What rules select by.
    struct Packet {
        /// Where the packet goes.
        var to: IPAddress
        /// Where it comes from; `nil` while its socket has no address yet.
        var from: IPAddress?
        /// Its firewall mark.
        var mark: UInt32
        /// The user whose packet it is.
        var uid: UInt32
        /// What it is.
        var transport = Transport.https
        /// The table of the VRF that its socket is bound to.
        var vrfTable: UInt32?
    }

    /// Reads the rules of the packet's family.
    init(_ all: [PolicyRule], for packet: Packet) {
        let ordered = all.filter { $0.family == packet.to.family }.enumerated()
            .sorted { ($0.element.priority, $0.offset) < ($1.element.priority, $1.offset) }.map(\.element)
        var fitting: [PolicyRule] = []
        var next: UInt32 = 0
        for rule in ordered where rule.priority >= next {
            let selector = RuleSelector(rule.selector)
            guard selector.fits(packet) else { continue }
            if rule.action == 2 {
                // A jump leads onwards only.
                next = max(selector.target ?? 0, rule.priority)
            } else if rule.action != 3 {
                fitting.append(rule)
            }
        }
        rules = fitting
        vrfTable = packet.vrfTable
    }

    /// The rules that lead to a table other than that of local addresses.
    var lookups: [PolicyRule] { rules.filter { $0.isLookup && $0.table != 255 } }

    /// The rule to show when no table had an answer: that of the main table, else the last one.
    var general: PolicyRule? { lookups.first { $0.table == 254 } ?? lookups.last }

    /// The rule by which the kernel came to its answer.
    func rule(to answer: RouteAnswer) -> PolicyRule? {
        rules.first { rule in
            guard rule.isLookup, (rule.isOfVRFs ? vrfTable : rule.table) == answer.table else { return false }
            guard let suppressed = RuleSelector(rule.selector).suppressed else { return true }
            return answer.prefixLength > suppressed
        }
    }
}

/// The selector of a rule, read from the words of ip-rule(8).
struct RuleSelector {
    private var conditions: [(word: String, value: String)] = []
    private var isInverted = false
    /// Where a `goto` leads.
    private(set) var target: UInt32?
    /// Routes with prefixes up to this length do not count (`suppress_prefixlength`).
    private(set) var suppressed: Int?

    init(_ text: String) {
        var words = text.split(separator: " ").map(String.init)[...]
        while let word = words.popFirst() {
            switch word {
            case "not": isInverted = true
            case "all": continue
            case "l3mdev": conditions.append((word, ""))
            case "goto": target = words.popFirst().flatMap { UInt32($0) }
            case "suppress_prefixlength": suppressed = words.popFirst().flatMap { Int($0) }
            case "suppress_ifgroup": words = words.dropFirst()
            default: conditions.append((word, words.popFirst() ?? ""))
            }
        }
    }

    /// Whether the rule applies to a packet of this machine that is bound to no interface.
    func fits(_ packet: RuleWalk.Packet) -> Bool {
        conditions.allSatisfy { word, value in
            switch word {
            case "to": Self.prefix(value)?.contains(packet.to) ?? false
            case "from": packet.from.map { Self.prefix(value)?.contains($0) ?? false } ?? false
            case "iif": value == "lo"
            case "fwmark": Self.matches(packet.mark, value)
            case "uidrange": Self.range(value)?.contains(packet.uid) ?? false
            case "ipproto": Self.range(value)?.contains(UInt32(packet.transport.number)) ?? false
            case "l3mdev": packet.vrfTable != nil
            case "dport": Self.range(value)?.contains(UInt32(packet.transport.port)) ?? false
            // An interface or the port it comes from is not known yet, which is as different.
            default: false
            }
        } != isInverted
    }

    private static func prefix(_ text: String) -> IPPrefix? {
        let parts = text.split(separator: "/")
        guard let first = parts.first, let address = IPAddress(first) else { return nil }
        return IPPrefix(address, length: parts.count > 1 ? Int(parts[1]) ?? 0 : address.family.bitWidth)
    }

    private static func matches(_ mark: UInt32, _ text: String) -> Bool {
        let numbers = text.split(separator: "/").map { UInt32($0.dropFirst(2), radix: 16) ?? 0 }
        guard let value = numbers.first else { return false }
        let mask = numbers.count > 1 ? numbers[1] : .max
        return mark & mask == value & mask
    }

    private static func range(_ text: String) -> ClosedRange<UInt32>? {
        let ends = text.split(separator: "-").compactMap { UInt32($0) }
        guard let first = ends.first, let last = ends.last, first <= last else { return nil }
        return first...last
    }
}

extension PolicyRule {
    /// Whether it selects the table of the VRF that packets are bound to.
    var isOfVRFs: Bool { selector.split(separator: " ").contains("l3mdev") }

    /// Whether it leads to a table.
    var isLookup: Bool { action == 1 }

    /// What it refuses packets with; `nil` when it does not.
    var refusals: [RouteFailure] {
        switch action {
        case 6: [.blackhole]
        case 7: [.noRoute, .unreachable]
        case 8: [.prohibited]
        default: []
        }
    }

    /// As ip-rule(8) prints it, such as `32766: from all lookup main`.
    var line: String {
        var words = selector == "all" ? ["from all"] : [selector]
        if selector.hasPrefix("not ") {
            let hasSource = selector.split(separator: " ").contains("from")
            words = hasSource ? [selector] : ["not from all " + selector.dropFirst(4)]
        } else if !words[0].hasPrefix("from ") {
            words = ["from all " + words[0]]
        }
        switch action {
        case 1 where isOfVRFs: words = ["from all lookup [l3mdev-table]"]
        case 1: words.append("lookup \(RouteText.name(ofTable: table))")
        case 6: words.append("blackhole")
        case 7: words.append("unreachable")
        case 8: words.append("prohibit")
        default: break
        }
        return "\(priority): \(words.joined(separator: " "))"
    }
}
