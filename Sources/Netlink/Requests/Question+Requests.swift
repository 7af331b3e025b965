// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CNetlink

extension Question {
    /// `RTEXT_FILTER_SKIP_STATS`: the counters are a third of a link's description.
    private static let withoutStatistics: UInt32 = 1 << 3

    static var links: Question { link(header: [UInt8](repeating: 0, count: 16), flags: dump) }

    static func link(index: Int) -> Question {
        link(header: [0, 0, 0, 0] + bytes(of: Int32(clamping: index)) + [UInt8](repeating: 0, count: 8), flags: 0)
    }

    /// The kernel searches either attribute among names and alternative names; only one has room for a long name.
    static func link(named name: String) -> Question {
        var question = link(header: [UInt8](repeating: 0, count: 16), flags: 0)
        question.add(name.utf8.count < Int(IFNAMSIZ) ? IFLA_IFNAME : IFLA_ALT_IFNAME, Array(name.utf8) + [0])
        return question
    }

    private static func link(header: [UInt8], flags: UInt16) -> Question {
        var question = Question(type: UInt16(RTM_GETLINK), flags: flags, body: header)
        question.add(IFLA_EXT_MASK, withoutStatistics)
        return question
    }

    static var addresses: Question {
        Question(type: UInt16(RTM_GETADDR), flags: dump, body: [UInt8](repeating: 0, count: 8))
    }

    static var rules: Question {
        Question(type: UInt16(RTM_GETRULE), flags: dump, body: [UInt8](repeating: 0, count: 12))
    }

    static var nexthops: Question {
        Question(type: UInt16(RTM_GETNEXTHOP), flags: dump, body: [UInt8](repeating: 0, count: 8))
    }

    static func nexthop(id: UInt32) -> Question {
        var question = Question(type: UInt16(RTM_GETNEXTHOP), flags: 0, body: [UInt8](repeating: 0, count: 8))
        question.add(NHA_ID, id)
        return question
    }

    static func neighbors(index: Int?) -> Question {
        var question = Question(type: UInt16(RTM_GETNEIGH), flags: dump, body: [UInt8](repeating: 0, count: 12))
        if let index { question.add(NDA_IFINDEX, UInt32(clamping: index)) }
        return question
    }

    static func neighbor(_ address: IPAddress, index: Int) -> Question {
        neighbor(type: RTM_GETNEIGH, flags: 0, address, index: index, state: 0, entryFlags: 0)
    }

    /// The entry of a hardware address that a bridge has for no VLAN.
    static func bridgeEntry(_ hardwareAddress: [UInt8], bridge: Int) -> Question {
        var question = bridgeEntries(bridge: bridge, flags: 0)
        question.add(NDA_LLADDR, hardwareAddress)
        return question
    }

    static func bridgeEntries(bridge: Int, flags: UInt16 = dump) -> Question {
        let header = [BridgeEntry.family] + [UInt8](repeating: 0, count: 11)
        var question = Question(type: UInt16(RTM_GETNEIGH), flags: flags, body: header)
        question.add(NDA_MASTER, UInt32(clamping: bridge))
        return question
    }

    /// Sets the state of an existing entry, which clears all flags that are not repeated, or makes the kernel use one
    /// (rule S52).
    static func setNeighbor(
        _ address: IPAddress,
        index: Int,
        state: NeighborState?,
        isRouter: Bool = false
    ) -> Question {
        let flags = acknowledge | UInt16(state == nil ? NLM_F_CREATE : NLM_F_REPLACE)
        return neighbor(
            type: RTM_NEWNEIGH,
            flags: flags,
            address,
            index: index,
            state: state?.rawValue ?? 0,
            entryFlags: UInt8(state == nil ? NTF_USE : 0) | UInt8(isRouter ? NTF_ROUTER : 0)
        )
    }

    private static func neighbor(
        type: Int,
        flags: UInt16,
        _ address: IPAddress,
        index: Int,
        state: UInt16,
        entryFlags: UInt8
    ) -> Question {
        var header: [UInt8] = [address.family.kernelNumber, 0, 0, 0]
        header += bytes(of: Int32(clamping: index)) + bytes(of: state) + [entryFlags, 0]
        var question = Question(type: UInt16(type), flags: flags, body: header)
        question.add(NDA_DST, address)
        return question
    }

    static func routes(_ family: AddressFamily, table: UInt32, index: Int?) -> Question {
        var header = [UInt8](repeating: 0, count: 12)
        header[0] = family.kernelNumber
        header[4] = table < 256 ? UInt8(table) : 0
        var question = Question(type: UInt16(RTM_GETROUTE), flags: dump, body: header)
        question.add(Int(RTA_TABLE.rawValue), table)
        if let index { question.add(Int(RTA_OIF.rawValue), UInt32(clamping: index)) }
        return question
    }

    /// Routes of all tables; the kernel sends only those of `type`, if one is given.
    static func routes(_ family: AddressFamily, type: RouteType?) -> Question {
        var header = [UInt8](repeating: 0, count: 12)
        header[0] = family.kernelNumber
        header[7] = type?.rawValue ?? 0
        return Question(type: UInt16(RTM_GETROUTE), flags: dump, body: header)
    }

    static func lookup(_ query: RouteQuery) -> Question {
        let family = query.destination.family
        var flags: UInt32 = query.kind == .entry ? UInt32(RTM_F_FIB_MATCH) : 0
        // IPv6 refuses RTM_F_LOOKUP_TABLE under strict checking, and reports the table without it (rule S33).
        if family == .ipv4 { flags |= UInt32(RTM_F_LOOKUP_TABLE) }
        let width = UInt8(family.bitWidth)
        let header = [family.kernelNumber, width, query.source == nil ? 0 : width, 0, 0, 0, 0, 0] + bytes(of: flags)
        var question = Question(type: UInt16(RTM_GETROUTE), flags: 0, body: header)
        question.add(Int(RTA_DST.rawValue), query.destination)
        if let source = query.source { question.add(Int(RTA_SRC.rawValue), source) }
        if let index = query.outputInterface { question.add(Int(RTA_OIF.rawValue), UInt32(clamping: index)) }
        if let index = query.inputInterface { question.add(Int(RTA_IIF.rawValue), UInt32(clamping: index)) }
        if query.mark != 0 { question.add(Int(RTA_MARK.rawValue), query.mark) }
        if let uid = query.uid { question.add(Int(RTA_UID.rawValue), uid) }
        if let transport = query.transport {
            question.add(Int(RTA_IP_PROTO.rawValue), [transport.number])
            // What comes in is an answer: it comes from that port.
            let port = query.inputInterface == nil ? RTA_DPORT : RTA_SPORT
            question.add(Int(port.rawValue), bytes(of: transport.port.bigEndian))
        }
        return question
    }
}
