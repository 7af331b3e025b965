// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import DNSWire
public import FuzzKit

/// Messages made of a few names, so that random bytes are about the same services again and again.
public enum Scripts {
    /// Service types.
    public static let types = (0..<8).map { name("_t\($0)._tcp.local") }
    /// Instances; the type of each is that of its number.
    public static let instances = (0..<32).map { name("I\($0)._t\($0 & 7)._tcp.local") }
    /// Hosts.
    public static let hosts = (0..<16).map { name("h\($0).local") }
    private static let enumeration = name("_services._dns-sd._udp.local")
    /// A subtype of the first type.
    public static let subtype = name("_s._sub._t0._tcp.local")
    /// How many different questions there can be about these names; for records of any type of a type, too.
    public static let everyQuestion = 2 * (2 + types.count) + 2 * instances.count + 2 * hosts.count
    private static let lifetimes: [UInt32] = [0, 1, 2, 10, 120, 4500, 0x7FFF_FFFF, 0xFFFF_FFFF]

    private static func name(_ text: String) -> DomainName { DomainName(text) ?? DomainName() }

    /// Up to eight records of any kind.
    public static func response(_ input: inout InputReader) -> [UInt8] {
        let count = Int(input.byte() & 7) + 1
        var message = Message(flags: [.response, .authoritative])
        for _ in 0..<count { message.answers.append(record(&input)) }
        return message.encoded() ?? []
    }

    /// Up to four questions, and known answers, perhaps with more to follow.
    public static func query(_ input: inout InputReader) -> [UInt8] {
        let head = input.byte()
        var message = Message(flags: head & 0x80 == 0 ? [] : .truncated)
        for _ in 0..<(head & 3) + 1 {
            let record = record(&input)
            let any = head & 0x40 != 0
            message.questions.append(Question(record.name, any ? .any : record.type, wantsUnicast: head & 0x20 != 0))
        }
        for _ in 0..<(head >> 2 & 3) { message.answers.append(record(&input)) }
        if head & 0x10 != 0 { message.authorities.append(record(&input)) }
        return message.encoded() ?? []
    }

    /// Everything about one service, as an honest responder announces it.
    public static func service(_ number: UInt8, timeToLive: UInt8) -> [UInt8] {
        let instance = instances[Int(number & 31)]
        let host = hosts[Int(number & 15)]
        let lifetime = lifetimes[Int(timeToLive & 7)]
        let location = ServiceLocation(port: UInt16(number >> 5), target: host)
        let message = Message(
            flags: [.response, .authoritative],
            answers: [ResourceRecord(types[Int(number & 7)], .ptr, .pointer(instance), timeToLive: lifetime)],
            additionals: [
                ResourceRecord(instance, .srv, .service(location), timeToLive: lifetime, flushesCache: true),
                ResourceRecord(instance, .txt, .text([3, 97, 61, 48 | timeToLive >> 4]), timeToLive: lifetime),
                ResourceRecord(host, .a, .address(.v4(UInt32(number))), timeToLive: lifetime, flushesCache: true),
            ]
        )
        return message.encoded() ?? []
    }

    /// A record of any kind.
    public static func record(_ input: inout InputReader) -> ResourceRecord {
        let (head, owner, other) = (input.byte(), Int(input.byte()), Int(input.byte()))
        let instance = instances[owner & 31]
        let host = hosts[owner & 15]
        let (name, type, data): (DomainName, RecordType, RecordData) =
            switch head & 7 {
            case 0: (types[owner & 7], .ptr, .pointer(instances[other & 31]))
            case 1:
                (instance, .srv, .service(ServiceLocation(port: UInt16(other >> 4), target: hosts[other & 15])))
            case 2: (instance, .txt, .text([2, 97, UInt8(other)]))
            case 3: (host, .a, .address(.v4(UInt32(other))))
            case 4: (host, .aaaa, .address(.v6(UInt128(other))))
            case 5: (host, .nsec, .nextSecure(next: host, types: other & 1 == 0 ? [.a] : [.aaaa]))
            case 6: (enumeration, .ptr, .pointer(types[other & 7]))
            default:
                owner & 0x40 == 0
                    ? (subtype, .ptr, .pointer(instances[(other & 3) << 3]))
                    : (instance, RecordType(rawValue: UInt16(other)), .opaque([1, 2]))
            }
        return ResourceRecord(
            name,
            type,
            data,
            timeToLive: lifetimes[Int(head >> 3 & 7)],
            classCode: head & 0x40 == 0 || owner & 0x80 == 0 ? 1 : 3,
            flushesCache: head & 0x80 != 0
        )
    }
}
