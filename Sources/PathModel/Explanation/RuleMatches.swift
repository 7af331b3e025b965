// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink

/// The policy rules that a packet meets, in the kernel's order.
///
/// The kernel does not report which rule led to its answer, so this reads them as it does: by rising priority, passing
/// over those whose selector does not fit the packet.
struct RuleMatches {
    /// The rules that fit, or may fit, in the order the kernel comes to them.
    let steps: [Step]
    private let vrfTable: UInt32?

    struct Step {
        let rule: PolicyRule
        /// Whether it is known to fit.
        let isCertain: Bool
    }

    /// What rules select by; DSCP and flow label are 0, as programs leave them.
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
        /// The name of the interface that its socket is bound to.
        var bound: String?
    }

    /// Reads the rules of the packet's family.
    init(_ all: [PolicyRule], for packet: Packet) {
        let ordered = all.filter { $0.family == packet.to.family }.enumerated()
            .sorted { ($0.element.priority, $0.offset) < ($1.element.priority, $1.offset) }.map(\.element)
        var fitting: [Step] = []
        var next: UInt32 = 0
        // The rules before this one are passed over by a jump that may apply.
        var doubtfulBefore: UInt32 = 0
        for rule in ordered where rule.priority >= next {
            let selector = RuleSelector(rule)
            let match = selector.match(packet)
            guard match != .no else { continue }
            let isCertain = match == .yes && rule.priority >= doubtfulBefore
            if rule.action == 2 {
                // The kernel passes over a jump to a rule that there is not.
                guard ordered.contains(where: { $0.priority == selector.target }) else { continue }
                // A jump leads onwards only.
                let target = max(selector.target ?? 0, rule.priority)
                if isCertain { next = target } else { doubtfulBefore = max(doubtfulBefore, target) }
            } else if rule.action != 3 {
                fitting.append(Step(rule: rule, isCertain: isCertain && !selector.maySuppress))
            }
        }
        steps = fitting
        vrfTable = packet.vrfTable
    }

    var rules: [PolicyRule] { steps.map(\.rule) }

    /// The rules that lead to a table other than that of local addresses.
    var lookups: [PolicyRule] { rules.filter { $0.isLookup && $0.table != 255 } }

    /// The rule to show when no table had an answer: that of the main table, else the last one.
    var general: PolicyRule? { lookups.first { $0.table == 254 } ?? lookups.last }

    /// The rules by which the kernel may have come to its answer, up to the first that is known to fit.
    func candidates(for answer: RouteAnswer) -> [Step] {
        upToCertain { rule in
            guard rule.isLookup, (rule.isOfVRFs ? vrfTable : rule.table) == answer.table else { return false }
            guard let suppressed = RuleSelector(rule).suppressed else { return true }
            return answer.prefixLength > suppressed
        }
    }

    /// The rules that refuse packets with this failure, up to the first that is known to fit.
    func refusals(_ failure: RouteFailure) -> [Step] { upToCertain { $0.refusals.contains(failure) } }

    /// The line of a rule, and of those before it that this version does not know enough of.
    func text(of rule: PolicyRule) -> String {
        let earlier = steps.prefix { $0.rule != rule }.map(\.rule).filter { $0.remark != nil }
        return ([rule.line] + earlier.map { "before it \($0.line): \($0.remark ?? "")" }).joined(separator: "; ")
    }

    /// The lines of rules of which it is not known which one applies.
    func text(of candidates: [Step]) -> String {
        let lines = candidates.map { step in
            let reason = step.rule.remark ?? "not known whether it applies"
            return step.isCertain ? step.rule.line : "\(step.rule.line) (\(reason))"
        }
        return lines.joined(separator: ", or ")
    }

    private func upToCertain(_ isMeant: (PolicyRule) -> Bool) -> [Step] {
        let meant = steps.filter { isMeant($0.rule) }
        let end = meant.firstIndex(where: \.isCertain).map { $0 + 1 } ?? meant.endIndex
        return Array(meant[..<end])
    }
}

/// The selector of a rule, read from the words of ip-rule(8).
struct RuleSelector {
    private var conditions: [(word: String, value: String)] = []
    private var isInverted = false
    private let isComplete: Bool
    /// Where a `goto` leads.
    private(set) var target: UInt32?
    /// Routes with prefixes up to this length do not count (`suppress_prefixlength`).
    private(set) var suppressed: Int?
    /// Whether routes by interfaces of some group do not count (`suppress_ifgroup`): the group of an interface is not read.
    private(set) var maySuppress = false

    /// Whether a rule applies.
    enum Match {
        case yes
        case no
        case unknown

        init(_ isMet: Bool?) {
            self = isMet.map { $0 ? .yes : .no } ?? .unknown
        }
    }

    init(_ rule: PolicyRule) {
        isComplete = rule.unknownAttributes.isEmpty
        var words = rule.selector.split(separator: " ").map(String.init)[...]
        while let word = words.popFirst() {
            switch word {
            case "not": isInverted = true
            case "all": continue
            case "l3mdev": conditions.append((word, ""))
            case "goto": target = words.popFirst().flatMap { UInt32($0) }
            case "suppress_prefixlength": suppressed = words.popFirst().flatMap { Int($0) }
            case "suppress_ifgroup":
                words = words.dropFirst()
                maySuppress = true
            default: conditions.append((word, words.popFirst() ?? ""))
            }
        }
    }

    /// Whether the rule applies to a packet of this machine.
    func match(_ packet: RuleMatches.Packet) -> Match {
        let known = conditions.map { Self.match(packet, $0.word, $0.value) }
        if known.contains(.no) { return isInverted ? (isComplete ? .yes : .unknown) : .no }
        if !isComplete || known.contains(.unknown) { return .unknown }
        return isInverted ? .no : .yes
    }

    private static func match(_ packet: RuleMatches.Packet, _ word: String, _ value: String) -> Match {
        switch word {
        case "to": Match(prefix(value)?.contains(packet.to))
        case "from":
            Match(prefix(value).map { $0.contains(packet.from ?? (packet.to.family == .ipv4 ? .v4(0) : .v6(0))) })
        case "iif": Match(value == "lo")
        case "oif": Match(value == packet.bound)
        case "fwmark": Match(masked(value).map { $0.matches(packet.mark) })
        case "uidrange": Match(range(value)?.contains(packet.uid))
        case "ipproto": Match(range(value)?.contains(UInt32(packet.transport.number)))
        case "l3mdev": Match(packet.vrfTable != nil)
        case "dport": ports(value, contain: packet.transport.port)
        case "sport": sourcePort(value)
        case "dscp", "flowlabel": Match(masked(value).map { $0.matches(0) })
        // Other than 0 both.
        case "tos", "tun_id": .no
        default: .unknown
        }
    }

    private static func ports(_ text: String, contain port: UInt16) -> Match {
        if text.contains("/") { return Match(masked(text).map { $0.matches(UInt32(port)) }) }
        return Match(range(text)?.contains(UInt32(port)))
    }

    /// The kernel chooses the port when the program does not, above the privileged ones.
    private static func sourcePort(_ text: String) -> Match {
        let last = text.contains("/") ? masked(text).map { $0.largest(of: 0xFFFF) } : range(text)?.upperBound
        return last.map { $0 < 1024 ? .no : .unknown } ?? .unknown
    }

    /// A number of which some bits count.
    private struct Masked {
        let number: UInt32
        let mask: UInt32

        func matches(_ other: UInt32) -> Bool { (number ^ other) & mask == 0 }

        /// The largest number that matches, of those with these bits.
        func largest(of bits: UInt32) -> UInt32 { (number & mask | ~mask) & bits }
    }

    private static func prefix(_ text: String) -> IPPrefix? {
        let parts = text.split(separator: "/")
        guard let first = parts.first, let address = IPAddress(first) else { return nil }
        return IPPrefix(address, length: parts.count > 1 ? Int(parts[1]) ?? 0 : address.family.bitWidth)
    }

    private static func masked(_ text: String) -> Masked? {
        let numbers = text.split(separator: "/").map { word in
            word.hasPrefix("0x") ? UInt32(word.dropFirst(2), radix: 16) : UInt32(word)
        }
        guard let number = numbers.first ?? nil, let mask = numbers.count > 1 ? numbers[1] : UInt32.max else {
            return nil
        }
        return Masked(number: number, mask: mask)
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

    /// Says that the rule may be about other packets than its line says.
    var remark: String? {
        guard !unknownAttributes.isEmpty else { return nil }
        return "this rule also matches something this version does not know: " + unknownAttributes.asAttributes
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
        default: words.append("action \(action)")
        }
        return "\(priority): \(words.joined(separator: " "))"
    }
}

extension [Int] {
    /// Such as `attribute 29` or `attributes 29, 31`.
    var asAttributes: String {
        (count == 1 ? "attribute " : "attributes ") + map(String.init).joined(separator: ", ")
    }
}
