// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import CNetlink

/// Which notifications of routes and neighbours wake a listener (rule S3); the kernel drops the others before they are
/// queued.
///
/// Every prefix of at most /8 (IPv4) or /16 (IPv6) passes, since it may stand for the Internet (rule S20), and every longer
/// one that covers one of `destinations`.
public struct NotificationFilter: Hashable, Sendable {
    /// Addresses that an answer rests on: routes to them pass whatever the length of their prefix.
    public var destinations: Set<IPAddress>
    /// Neighbours whose entries pass, on whatever interface.
    public var neighbors: Set<IPAddress>
    /// Hardware addresses, of 6 bytes, that pass where a bridge learns or forgets their port.
    public var hardwareAddresses: Set<[UInt8]>

    /// Passes short prefixes alone by default.
    public init(
        destinations: Set<IPAddress> = [],
        neighbors: Set<IPAddress> = [],
        hardwareAddresses: Set<[UInt8]> = []
    ) {
        self.destinations = destinations
        self.neighbors = neighbors
        self.hardwareAddresses = hardwareAddresses
    }

    /// How many addresses the program compares in each set, of each family; changes of others are found by audits.
    static let most = 64
    /// The longest IPv4 prefix that always passes.
    static let longestIPv4Prefix: UInt32 = 8
    /// The longest IPv6 prefix that always passes.
    static let longestIPv6Prefix: UInt32 = 16

    /// Whether everything that `other` passes passes here, too.
    public func covers(_ other: NotificationFilter) -> Bool {
        destinations.isSuperset(of: other.destinations) && neighbors.isSuperset(of: other.neighbors)
            && hardwareAddresses.isSuperset(of: other.hardwareAddresses)
    }

    /// The classic BPF program, in the form of `nwp_attach_filter`.
    ///
    /// A load converts network order into host order, but netlink headers are in host order already: constants that are
    /// compared with those are swapped instead.
    var program: [UInt64] {
        var code = FilterAssembler()
        code.load(.half, at: Offset.type)
        for type in [RTM_NEWROUTE, RTM_DELROUTE] { code.jump(.equal, swapped(Int(type)), to: .routes) }
        for type in [RTM_NEWNEIGH, RTM_DELNEIGH] { code.jump(.equal, swapped(Int(type)), to: .neighbors) }
        code.jump(to: .pass)
        addRoutes(to: &code)
        addNeighbors(to: &code)
        code.mark(.drop)
        code.finish(.drop)
        code.mark(.pass)
        code.finish(.pass)
        return code.program
    }

    // MARK: - Routes

    private func addRoutes(to code: inout FilterAssembler) {
        code.mark(.routes)
        code.load(.half, at: Offset.flags)
        code.jump(.anyBit, swapped(Int(NLM_F_MULTI)), to: .pass)
        code.load(.byte, at: Offset.family)
        code.jump(.equal, Self.ipv6, to: .ipv6Routes)
        code.load(.byte, at: Offset.prefixLength)
        code.jump(.greater, Self.longestIPv4Prefix, to: .longIPv4)
        code.jump(to: .pass)
        code.mark(.ipv6Routes)
        code.load(.byte, at: Offset.prefixLength)
        code.jump(.greater, Self.longestIPv6Prefix, to: .longIPv6)
        code.jump(to: .pass)
        addLongIPv4(to: &code)
        addLongIPv6(to: &code)
    }

    private func addLongIPv4(to code: inout FilterAssembler) {
        code.mark(.longIPv4)
        code.findAttribute(UInt32(RTA_DST.rawValue))
        code.loadAttribute(word: 0, into: ScratchCell.first)
        code.makeMask(bits: 32)
        for words in words(of: destinations, .ipv4) { code.passIfCovered(words[0], by: ScratchCell.first) }
        code.finish(.drop)
    }

    /// Compares 64 bits at most: longer prefixes of the same 64 pass as well.
    private func addLongIPv6(to code: inout FilterAssembler) {
        code.mark(.longIPv6)
        code.findAttribute(UInt32(RTA_DST.rawValue))
        code.loadAttribute(word: 0, into: ScratchCell.first)
        code.loadAttribute(word: 1, into: ScratchCell.second)
        code.load(.byte, at: Offset.prefixLength)
        code.jump(.greater, 32, to: .deepIPv6)
        code.makeMask(bits: 32)
        let words = words(of: destinations, .ipv6)
        for words in words { code.passIfCovered(words[0], by: ScratchCell.first) }
        code.finish(.drop)
        code.mark(.deepIPv6)
        code.makeMask(bits: 64)
        for words in words { code.passIfCovered(words[1], by: ScratchCell.second, after: words[0]) }
        code.finish(.drop)
    }

    // MARK: - Neighbours

    private func addNeighbors(to code: inout FilterAssembler) {
        code.mark(.neighbors)
        code.load(.byte, at: Offset.family)
        code.jump(.equal, UInt32(BridgeEntry.family), to: .bridgeEntries)
        code.findAttribute(UInt32(NDA_DST))
        code.load(.byte, at: Offset.family)
        code.jump(.equal, Self.ipv6, to: .ipv6Neighbors)
        for words in words(of: neighbors, .ipv4) { code.passIfEqual(words) }
        code.finish(.drop)
        code.mark(.ipv6Neighbors)
        for words in words(of: neighbors, .ipv6) { code.passIfEqual(words) }
        code.finish(.drop)
        code.mark(.bridgeEntries)
        code.findAttribute(UInt32(NDA_LLADDR))
        let addresses = hardwareAddresses.filter { $0.count == 6 }.sorted { $0.lexicographicallyPrecedes($1) }
        for address in addresses.prefix(Self.most) {
            // The last four bytes first: makers have the first ones in common. Two bytes are compared twice.
            code.passIfEqual([Self.word(address[2..<6]), Self.word(address[0..<4])], at: [2, 0])
        }
        code.finish(.drop)
    }

    private static func word(_ bytes: some Sequence<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }

    /// The addresses of a family as big-endian words, in a fixed order.
    private func words(of addresses: Set<IPAddress>, _ family: AddressFamily) -> [[UInt32]] {
        let addresses = addresses.filter { $0.family == family }
        let sorted = addresses.count > 1 ? addresses.sorted() : Array(addresses)
        return sorted.prefix(Self.most).map { address in
            switch address {
            case .v4(let value): [value]
            case .v6(let value): [96, 64, 32, 0].map { UInt32(truncatingIfNeeded: value >> $0) }
            }
        }
    }

    /// `AF_INET6`.
    private static let ipv6: UInt32 = 10

    private func swapped(_ value: Int) -> UInt32 { UInt32(UInt16(value).bigEndian) }
}

/// Where the program reads: `struct nlmsghdr` has 16 bytes, `struct rtmsg` and `struct ndmsg` have 12.
private enum Offset {
    static let type: UInt32 = 4
    static let flags: UInt32 = 6
    static let family: UInt32 = 16
    static let prefixLength: UInt32 = 17
    static let attributes: UInt32 = 28
}

/// Cells of the program's scratch memory.
private enum ScratchCell {
    static let first: UInt32 = 0
    static let second: UInt32 = 1
    static let length: UInt32 = 2
    static let mask: UInt32 = 3
}

/// Writes classic BPF (linux/filter.h) with labels to jump to, all of them forward.
private struct FilterAssembler {
    enum Label: Int, CaseIterable {
        case routes, ipv6Routes, longIPv4, longIPv6, deepIPv6, neighbors, ipv6Neighbors, bridgeEntries
        case pass, drop
    }
    enum Size: Int32 {
        case word = 0x00
        case half = 0x08
        case byte = 0x10
    }
    enum Condition: Int32 {
        case equal = 0x10
        case greater = 0x20
        case anyBit = 0x40
    }
    enum Verdict { case pass, drop }

    private var code: [UInt64] = []
    /// Where each label stands.
    private var labels = [Int](repeating: 0, count: Label.allCases.count)
    private var jumps: [(position: Int, label: Label)] = []

    /// `SKF_AD_OFF + SKF_AD_NLATTR`: the offset of the attribute that X names, searched from A on; 0 without one.
    private static let attributeSearch = UInt32(bitPattern: -0x1000 + 12)

    /// The instructions, with jumps resolved.
    ///
    /// Conditional jumps reach 255 instructions only, so they skip one that
    /// reaches everywhere.
    var program: [UInt64] {
        var program = code
        for jump in jumps {
            program[jump.position] |= UInt64(UInt32(labels[jump.label.rawValue] - jump.position - 1))
        }
        return program
    }

    init() {
        code.reserveCapacity(128)
        jumps.reserveCapacity(32)
    }

    mutating func mark(_ label: Label) { labels[label.rawValue] = code.count }

    mutating func load(_ size: Size, at offset: UInt32) { add(BPF_LD | BPF_ABS | size.rawValue, offset) }

    mutating func jump(to label: Label) {
        jumps.append((code.count, label))
        add(BPF_JMP | BPF_JA, 0)
    }

    mutating func jump(_ condition: Condition, _ operand: UInt32, to label: Label) {
        add(BPF_JMP | BPF_K | condition.rawValue, operand, then: 0, otherwise: 1)
        jump(to: label)
    }

    mutating func finish(_ verdict: Verdict) { add(BPF_RET | BPF_K, verdict == .pass ? .max : 0) }

    /// Puts the offset of an attribute into X; a message without it is dropped.
    mutating func findAttribute(_ kind: UInt32) {
        add(BPF_LDX | BPF_IMM, kind)
        add(BPF_LD | BPF_IMM, Offset.attributes)
        load(.word, at: Self.attributeSearch)
        jump(.equal, 0, to: .drop)
        add(BPF_MISC | Int32(BPF_TAX), 0)
    }

    /// Stores a word of the attribute that X points to.
    mutating func loadAttribute(word: UInt32, into slot: UInt32) {
        add(BPF_LD | BPF_IND | BPF_W, 4 + word * 4)
        add(BPF_ST, slot)
    }

    /// Makes a mask of the last 32 of `bits` for the message's prefix length, which is cut to `bits`.
    mutating func makeMask(bits: UInt32) {
        load(.byte, at: Offset.prefixLength)
        add(BPF_JMP | BPF_K | BPF_JGT, bits, then: 0, otherwise: 1)
        add(BPF_LD | BPF_IMM, bits)
        add(BPF_ST, ScratchCell.length)
        add(BPF_LDX | BPF_MEM, ScratchCell.length)
        add(BPF_LD | BPF_IMM, bits)
        add(BPF_ALU | BPF_SUB | BPF_X, 0)
        add(BPF_MISC | Int32(BPF_TAX), 0)
        add(BPF_LD | BPF_IMM, .max)
        add(BPF_ALU | BPF_LSH | BPF_X, 0)
        add(BPF_ST, ScratchCell.mask)
    }

    /// Passes the message when its prefix covers a word, where the word before is equal to `earlier`.
    mutating func passIfCovered(_ word: UInt32, by slot: UInt32, after earlier: UInt32? = nil) {
        if let earlier {
            add(BPF_LD | BPF_MEM, ScratchCell.first)
            add(BPF_JMP | BPF_K | BPF_JEQ, earlier, then: 0, otherwise: 5)
        }
        add(BPF_LD | BPF_MEM, ScratchCell.mask)
        add(BPF_ALU | BPF_AND | BPF_K, word)
        add(BPF_LDX | BPF_MEM, slot)
        add(BPF_JMP | BPF_JEQ | BPF_X, 0, then: 0, otherwise: 1)
        finish(.pass)
    }

    /// Passes the message when the attribute that X points to has these words at these offsets, or one after
    /// the other.
    mutating func passIfEqual(_ words: [UInt32], at offsets: [UInt32]? = nil) {
        for (number, word) in words.enumerated() {
            add(BPF_LD | BPF_IND | BPF_W, 4 + (offsets?[number] ?? UInt32(4 * number)))
            add(BPF_JMP | BPF_K | BPF_JEQ, word, then: 0, otherwise: UInt64(2 * (words.count - number) - 1))
        }
        finish(.pass)
    }

    private mutating func add(_ operation: Int32, _ operand: UInt32, then jump: UInt64 = 0, otherwise other: UInt64 = 0)
    {
        code.append(UInt64(operation) << 48 | jump << 40 | other << 32 | UInt64(operand))
    }
}
