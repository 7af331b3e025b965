// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CNetlink

extension RouteEntry {
    /// `RTA_FLOWLABEL`, the last of Linux 6.18, of which this version knows what those that it does not read mean.
    private static let lastKnown = 31
    /// `RTCF_REDIRECTED` of linux/in_route.h.
    private static let redirected: UInt32 = 0x4_0000

    /// Reads `struct rtmsg` and its RTA_* attributes.
    /// - Returns: `nil` when the bytes are not a whole description of an IPv4 or IPv6 route.
    init?(decoding body: Span<UInt8>) {
        guard body.count >= 12, let family = AddressFamily(kernel: body[0]) else { return nil }
        let isClone = body.host32(at: 8) & UInt32(RTM_F_CLONED) != 0
        var destination: IPAddress = family == .ipv4 ? .v4(0) : .v6(0)
        var answer = RouteAnswer(
            type: RouteType(rawValue: body[7]) ?? .unspecified,
            table: UInt32(body[4]),
            prefixLength: Int(body[1]),
            origin: body[5]
        )
        var nexthop = RouteNexthop(index: 0, flags: NexthopFlags(rawValue: body.host32(at: 8) & 0xFF))
        var expiry: Double?
        var attributes = AttributeReader(body, from: 12)
        while attributes.advance() {
            switch rtattr_type_t(UInt32(attributes.kind)) {
            case RTA_DST: destination = attributes.address ?? destination
            case RTA_OIF: nexthop.index = attributes.index
            case RTA_GATEWAY: nexthop.gateway = attributes.address
            case RTA_VIA: nexthop.gateway = attributes.via
            case RTA_PREFSRC: answer.preferredSource = attributes.address
            case RTA_PRIORITY: answer.metric = attributes.word
            case RTA_TABLE: answer.table = attributes.word
            case RTA_NH_ID: answer.nexthopID = attributes.word
            case RTA_MULTIPATH: answer.nexthops = RouteNexthop.nexthops(ofMultipath: attributes.payload)
            case RTA_METRICS: answer.mtu = attributes.maximumSize
            case RTA_CACHEINFO where isClone: expiry = attributes.expiry
            case RTA_CACHEINFO where family == .ipv6: answer.expiresIn = attributes.expiry
            case _ where attributes.kind > Self.lastKnown: answer.unknownAttributes.append(attributes.kind)
            default: break
            }
        }
        guard !attributes.isMalformed, destination.family == family else { return nil }
        if answer.nexthops.isEmpty && nexthop.index > 0 { answer.nexthops = [nexthop] }
        let isRedirect = isClone && (family == .ipv6 || body.host32(at: 8) & Self.redirected != 0)
        if isRedirect || expiry != nil { answer.exception = RouteException(isRedirect: isRedirect, expiresIn: expiry) }
        self.init(destination: IPPrefix(destination, length: Int(body[1])), answer: answer)
    }
}

extension RouteNexthop {
    /// Reads the `struct rtnexthop` records of `RTA_MULTIPATH`; stops at the first that is not whole.
    static func nexthops(ofMultipath bytes: Span<UInt8>) -> [RouteNexthop] {
        var nexthops: [RouteNexthop] = []
        var start = 0
        while bytes.count - start >= 8 {
            let length = Int(bytes.host16(at: start))
            guard length >= 8, length <= bytes.count - start else { break }
            let record = bytes.extracting(start..<start + length)
            var nexthop = RouteNexthop(index: record.index(at: 4), flags: NexthopFlags(rawValue: UInt32(record[2])))
            var attributes = AttributeReader(record, from: 8)
            while attributes.advance() {
                switch rtattr_type_t(UInt32(attributes.kind)) {
                case RTA_GATEWAY: nexthop.gateway = attributes.address
                case RTA_VIA: nexthop.gateway = attributes.via
                default: break
                }
            }
            nexthops.append(nexthop)
            start = min(start + (length + 3) & ~3, bytes.count)
        }
        return nexthops
    }
}

extension AttributeReader {
    /// The value as `struct rtvia`: a family and an address of it (RFC 8950); `nil` for other families.
    fileprivate var via: IPAddress? {
        guard payload.count > 2, let family = AddressFamily(kernel: UInt8(truncatingIfNeeded: payload.host16(at: 0))),
            payload.count - 2 >= family.bitWidth / 8
        else { return nil }
        return IPAddress(bytes: payload.extracting(2..<2 + family.bitWidth / 8))
    }

    /// The `RTAX_MTU` in a value of metrics; `nil` without one.
    fileprivate var maximumSize: Int? {
        var metrics = AttributeReader(payload)
        var size: Int?
        while metrics.advance() { if metrics.kind == RTAX_MTU, metrics.word > 0 { size = Int(metrics.word) } }
        return size
    }

    /// The value as the `rta_expires` of `struct rta_cacheinfo`, in seconds; the kernel counts hundredths (USER_HZ).
    fileprivate var expiry: Double? {
        let ticks = payload.index(at: 8)
        return ticks == 0 ? nil : Double(ticks) / 100
    }
}

extension Nexthop {
    /// Reads `struct nhmsg` and its NHA_* attributes.
    /// - Returns: `nil` when the bytes are not a whole description of a nexthop object.
    init?(decoding body: Span<UInt8>) {
        guard body.count >= 8 else { return nil }
        self.init(id: 0)
        var nexthop = RouteNexthop(index: 0, flags: NexthopFlags(rawValue: body.host32(at: 4) & 0xFF))
        var attributes = AttributeReader(body, from: 8)
        while attributes.advance() {
            switch attributes.kind {
            case NHA_ID: id = attributes.word
            case NHA_OIF: nexthop.index = attributes.index
            case NHA_GATEWAY: nexthop.gateway = attributes.address
            case NHA_BLACKHOLE: isBlackhole = true
            case NHA_GROUP: members = (0..<attributes.payload.count / 8).map { attributes.payload.host32(at: 8 * $0) }
            default: break
            }
        }
        guard !attributes.isMalformed, id > 0 else { return nil }
        self.nexthop = nexthop.index > 0 ? nexthop : nil
    }
}
