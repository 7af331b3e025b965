// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CNetlink

extension PolicyRule {
    /// Reads `struct fib_rule_hdr` and its FRA_* attributes.
    /// - Returns: `nil` when the bytes are not a whole description of an IPv4 or IPv6 rule.
    init?(decoding body: Span<UInt8>) {
        guard body.count >= 12, let family = AddressFamily(kernel: body[0]) else { return nil }
        self.init(family: family, priority: 0, action: body[7], table: UInt32(body[4]), selector: "")
        var selector = RuleSelector(body)
        var attributes = AttributeReader(body, from: 12)
        while attributes.advance() {
            switch attributes.kind {
            case FRA_PRIORITY: priority = attributes.word
            case FRA_TABLE: table = attributes.word
            default: selector.add(attributes)
            }
        }
        guard !attributes.isMalformed else { return nil }
        self.selector = selector.text
        unknownAttributes = selector.unknown
    }
}

/// Says in the words of ip-rule(8) which packets a rule applies to.
private struct RuleSelector {
    private var words: [String] = []
    private var mark: UInt32?
    private var mask: UInt32?
    private var values: [Masked: Value] = [:]
    /// Attributes that this version does not know.
    private(set) var unknown: [Int] = []
    private let isInverted: Bool
    private let sourceLength: Int
    private let destinationLength: Int

    init(_ header: Span<UInt8>) {
        destinationLength = Int(header[1])
        sourceLength = Int(header[2])
        isInverted = header.host32(at: 8) & UInt32(FIB_RULE_INVERT) != 0
        if header[3] != 0 { words.append("tos 0x\(String(header[3], radix: 16))") }
    }

    /// The order in which ip-rule(8) prints them.
    private static let order = [
        "from", "to", "tos", "fwmark", "iif", "oif", "l3mdev", "uidrange", "ipproto", "sport", "dport", "tun_id",
        "dscp", "flowlabel", "goto", "suppress_prefixlength", "suppress_ifgroup",
    ]

    var text: String {
        var all = words
        // The kernel leaves out a mark of zero, even where a mask selects it; a mask of zero selects nothing.
        if let mark = mark ?? (mask ?? 0 == 0 ? nil : 0) {
            let suffix = mask.map { $0 == .max ? "" : "/\(Self.hexadecimal($0))" } ?? ""
            all.append("fwmark \(Self.hexadecimal(mark))\(suffix)")
        }
        for (word, value) in values { if let text = value.text { all.append("\(word.rawValue) \(text)") } }
        if all.isEmpty { return isInverted ? "not all" : "all" }
        let sorted = Self.order.flatMap { keyword in
            all.filter { $0 == keyword || $0.hasPrefix(keyword + " ") }
        }
        return (isInverted ? ["not"] + sorted : sorted).joined(separator: " ")
    }

    mutating func add(_ attribute: borrowing AttributeReader) {
        switch attribute.kind {
        case FRA_SRC: add("from", attribute.address, length: sourceLength)
        case FRA_DST: add("to", attribute.address, length: destinationLength)
        case FRA_IIFNAME: words.append("iif \(attribute.text)")
        case FRA_OIFNAME: words.append("oif \(attribute.text)")
        case FRA_FWMARK: mark = attribute.word
        case FRA_FWMASK: mask = attribute.word
        case FRA_GOTO: words.append("goto \(attribute.word)")
        case FRA_L3MDEV: if attribute.byte != 0 { words.append("l3mdev") }
        case FRA_UID_RANGE: words.append("uidrange \(attribute.word)-\(attribute.payload.host32(at: 4))")
        case FRA_IP_PROTO: words.append("ipproto \(attribute.byte)")
        case FRA_TUN_ID: words.append("tun_id \(attribute.payload.network64(at: 0))")
        case FRA_SPORT_RANGE: values[.sourcePort, default: Value()].number = Self.ports(attribute.payload)
        case FRA_DPORT_RANGE: values[.destinationPort, default: Value()].number = Self.ports(attribute.payload)
        case Newer.dscp: values[.dscp, default: Value()].number = "\(attribute.byte)"
        case Newer.flowLabel:
            let label = attribute.payload.network32(at: 0)
            values[.flowLabel, default: Value()].number = Self.hexadecimal(label)
        case Newer.flowLabelMask: mask(.flowLabel, attribute.payload.network32(at: 0), whole: 0xF_FFFF)
        case Newer.sourcePortMask: mask(.sourcePort, UInt32(attribute.payload.host16(at: 0)), whole: 0xFFFF)
        case Newer.destinationPortMask: mask(.destinationPort, UInt32(attribute.payload.host16(at: 0)), whole: 0xFFFF)
        case Newer.dscpMask: mask(.dscp, UInt32(attribute.byte), whole: 0x3F)
        case FRA_SUPPRESS_PREFIXLEN: if attribute.index >= 0 { words.append("suppress_prefixlength \(attribute.word)") }
        case FRA_SUPPRESS_IFGROUP: if attribute.index >= 0 { words.append("suppress_ifgroup \(attribute.word)") }
        // Read elsewhere, or of no consequence for which packets it applies to.
        case FRA_PRIORITY, FRA_TABLE, FRA_FLOW, FRA_PAD, FRA_PROTOCOL: break
        default: unknown.append(attribute.kind)
        }
    }

    private mutating func mask(_ word: Masked, _ mask: UInt32, whole: UInt32) {
        values[word, default: Value()].mask = mask == whole ? nil : Self.hexadecimal(mask)
    }

    /// As `%#x` of printf(3) has it.
    private static func hexadecimal(_ number: UInt32) -> String {
        number == 0 ? "0" : "0x" + String(number, radix: 16)
    }

    private mutating func add(_ word: String, _ address: IPAddress?, length: Int) {
        guard let address else { return }
        let isWhole = length == address.family.bitWidth
        words.append(isWhole ? "\(word) \(address)" : "\(word) \(IPPrefix(address, length: length))")
    }

    private static func ports(_ range: Span<UInt8>) -> String {
        let (first, last) = (range.host16(at: 0), range.host16(at: 2))
        return first == last ? "\(first)" : "\(first)-\(last)"
    }

    /// What may have a mask in an attribute of its own.
    private enum Masked: String {
        case sourcePort = "sport"
        case destinationPort = "dport"
        case dscp
        case flowLabel = "flowlabel"
    }

    private struct Value {
        var number: String?
        /// `nil` for one of all bits.
        var mask: String?
        var text: String? { number.map { number in mask.map { "\(number)/\($0)" } ?? number } }
    }

    /// Attributes of Linux 6.13 to 6.15, linux/fib_rules.h (`FRA_*`).
    private enum Newer {
        static let dscp = 25
        static let flowLabel = 26
        static let flowLabelMask = 27
        static let sourcePortMask = 28
        static let destinationPortMask = 29
        static let dscpMask = 30
    }
}
