// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

public struct RecordType: RawRepresentable, Hashable, Sendable, Comparable {
    public let rawValue: UInt16
    /// Wraps a number of the IANA registry.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// An IPv4 address.
    public static let a = RecordType(rawValue: 1)
    /// A name server of a zone.
    public static let ns = RecordType(rawValue: 2)
    public static let cname = RecordType(rawValue: 5)
    /// The start of a zone of authority.
    public static let soa = RecordType(rawValue: 6)
    /// A pointer to another name.
    public static let ptr = RecordType(rawValue: 12)
    public static let hinfo = RecordType(rawValue: 13)
    public static let txt = RecordType(rawValue: 16)
    /// An IPv6 address.
    public static let aaaa = RecordType(rawValue: 28)
    /// Host and port of a service (RFC 2782).
    public static let srv = RecordType(rawValue: 33)
    /// EDNS options (RFC 6891); its class is not a class.
    public static let opt = RecordType(rawValue: 41)
    /// Which types a name has (RFC 4034, RFC 6762 section 6.1).
    public static let nsec = RecordType(rawValue: 47)
    /// Any type; in questions only.
    public static let any = RecordType(rawValue: 255)

    public static func < (left: RecordType, right: RecordType) -> Bool { left.rawValue < right.rawValue }
}

/// A question, with the unicast-response bit separated from the class (RFC 6762 section 5.4).
public struct Question: Hashable, Sendable {
    public var name: DomainName
    public var type: RecordType
    /// The class without its top bit: 1 for the Internet, 255 for any.
    public var classCode: UInt16
    /// Whether a unicast answer is welcome (the QU bit).
    public var wantsUnicast: Bool

    public init(_ name: DomainName, _ type: RecordType, classCode: UInt16 = 1, wantsUnicast: Bool = false) {
        self.name = name
        self.type = type
        self.classCode = classCode
        self.wantsUnicast = wantsUnicast
    }

    /// Whether `record` answers the question; an alias answers for any type (RFC 6762 section 6).
    public func isAnswered(by record: ResourceRecord) -> Bool {
        let isOfType = type == record.type || type == .any || record.type == .cname
        return isOfType && (classCode == record.classCode || classCode == 255) && name == record.name
    }
}

/// Where a service runs: the data of an SRV record.
public struct ServiceLocation: Hashable, Sendable {
    /// Lower is tried first.
    public var priority: UInt16
    /// The share among equal priorities.
    public var weight: UInt16
    /// The port; 0 means that the service is not offered (RFC 6763 section 8).
    public var port: UInt16
    public var target: DomainName

    public init(priority: UInt16 = 0, weight: UInt16 = 0, port: UInt16, target: DomainName) {
        self.priority = priority
        self.weight = weight
        self.port = port
        self.target = target
    }
}

public enum RecordData: Hashable, Sendable {
    case address(IPAddress)
    case pointer(DomainName)
    case alias(DomainName)
    case service(ServiceLocation)
    /// TXT, as on the wire; ``TextRecord`` reads it.
    case text([UInt8])
    /// NSEC: the next name, which multicast DNS ignores, and the types the name has.
    case nextSecure(next: DomainName, types: [RecordType])
    case hostInformation(cpu: [UInt8], system: [UInt8])
    /// Any other type, and an NSEC record that could not be read.
    case opaque([UInt8])
}

/// A resource record, with the cache-flush bit separated from the class (RFC 6762 section 10.2).
public struct ResourceRecord: Hashable, Sendable {
    public var name: DomainName
    public var type: RecordType
    /// The class without its top bit; of an OPT record the payload size, whole.
    public var classCode: UInt16
    /// Whether older records of this name and type are to be forgotten.
    public var flushesCache: Bool
    /// How long the record may be kept, in seconds; 0 says goodbye.
    public var timeToLive: UInt32
    public var data: RecordData

    /// Makes a record of class IN.
    public init(
        _ name: DomainName,
        _ type: RecordType,
        _ data: RecordData,
        timeToLive: UInt32,
        classCode: UInt16 = 1,
        flushesCache: Bool = false
    ) {
        self.name = name
        self.type = type
        self.classCode = classCode
        self.flushesCache = flushesCache
        self.timeToLive = timeToLive
        self.data = data
    }
}
