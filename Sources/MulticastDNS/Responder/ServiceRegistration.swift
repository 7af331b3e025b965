// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import DNSWire

public struct ServiceRegistration: Hashable, Sendable {
    public enum Host: Hashable, Sendable {
        /// This machine, under its host name below `local`.
        ///
        /// The name is left to another responder on this machine that answers for it, and claimed when there is none.
        case machine
        /// A name that is claimed for the service, with the addresses of each interface, or with these alone.
        case claimed(DomainName, addresses: [IPAddress]?)
        /// A name that somebody else answers for.
        case existing(DomainName)
    }

    /// The instance name: one label.
    public var name: [UInt8]
    /// The type, such as `_ipp._tcp`.
    public var type: String
    /// Further names under which it can be browsed, such as `_printer`.
    public var subtypes: [[UInt8]] = []
    /// The port; 0 reserves the name without offering a service (RFC 6763 section 8).
    public var port: UInt16
    public var text: [TextRecord.Entry] = []
    /// Lower is tried first.
    public var priority: UInt16 = 0
    /// The share among equal priorities.
    public var weight: UInt16 = 0
    public var host = Host.machine
    /// The interfaces to advertise it on, by name; `nil` for all.
    public var interfaces: Set<String>?
    /// Whether it is renamed when its name is in use, as in `Lamp (2)`; else it fails.
    public var allowsRenaming = true

    public init(name: [UInt8], type: String, port: UInt16) {
        self.name = name
        self.type = type
        self.port = port
    }

    public static let maximumSubtypes = 32

    /// Checks everything that can be checked without the network.
    /// - Returns: The full name of the type.
    /// - Throws: What is wrong, the first thing first.
    @discardableResult
    public func validate() throws(RegistrationError) -> DomainName {
        try NameRules.checkLabel(name, field: "instance name")
        let type = try NameRules.serviceType(type)
        _ = try NameRules.join([name], type)
        guard subtypes.count <= Self.maximumSubtypes else {
            throw .tooMany(what: "subtypes", limit: Self.maximumSubtypes)
        }
        for subtype in subtypes {
            try NameRules.checkLabel(subtype, field: "subtype")
            _ = try NameRules.join([subtype, Array("_sub".utf8)], type)
        }
        try NameRules.check(text)
        if case .claimed(let host, let addresses) = host {
            try HostRegistration(name: host, addresses: addresses).validate()
        }
        return type
    }

    /// The records under a name, with the host they point to (rules A18, D5, D12, N8).
    func recordSet(_ id: RecordSet.ID, instance: DomainName, type: DomainName, host: DomainName) -> RecordSet {
        var set = RecordSet(id: id)
        let location = ServiceLocation(priority: priority, weight: weight, port: port, target: host)
        set.unique = [
            ResourceRecord(instance, .srv, .service(location), timeToLive: RecordSet.hostLifetime),
            ResourceRecord(
                instance,
                .txt,
                .text(TextRecord(entries: text).data),
                timeToLive: RecordSet.otherLifetime
            ),
        ]
        // Port 0 only keeps the name: nobody is to find it by browsing.
        guard port != 0 else { return set }
        let lifetime = RecordSet.otherLifetime
        let parents = subtypes.compactMap { try? DomainName(labels: [$0, Array("_sub".utf8)]).appending(type) }
        set.shared = ([type] + parents).map { ResourceRecord($0, .ptr, .pointer(instance), timeToLive: lifetime) }
        set.common = [ResourceRecord(ServiceName.enumeration, .ptr, .pointer(type), timeToLive: lifetime)]
        return set
    }
}

public struct HostRegistration: Hashable, Sendable {
    /// The name, such as `printer.local`.
    public var name: DomainName
    /// Its addresses; `nil` for those of each interface.
    public var addresses: [IPAddress]?
    /// The interfaces to claim it on, by name; `nil` for all.
    public var interfaces: Set<String>?
    /// Whether it is renamed when its name is in use, as in `printer-2`; else it fails.
    public var allowsRenaming = true

    public static let maximumAddresses = 32

    public init(name: DomainName, addresses: [IPAddress]? = nil) {
        self.name = name
        self.addresses = addresses
    }

    /// Checks everything that can be checked without the network.
    /// - Throws: What is wrong, the first thing first.
    public func validate() throws(RegistrationError) {
        try NameRules.checkHostName(name)
        guard let addresses else { return }
        guard !addresses.isEmpty else { throw .noAddress }
        guard addresses.count <= Self.maximumAddresses else {
            throw .tooMany(what: "addresses", limit: Self.maximumAddresses)
        }
    }

    func recordSet(_ id: RecordSet.ID, name: DomainName, yieldsToNeighbour: Bool = false) -> RecordSet {
        var set = RecordSet(id: id)
        set.yieldsToNeighbour = yieldsToNeighbour
        guard let addresses else {
            set.hosts = [name]
            // An address has one name, that of the machine.
            if yieldsToNeighbour { set.reverseTarget = name }
            return set
        }
        set.unique = addresses.map { address in
            let type: RecordType = address.family == .ipv4 ? .a : .aaaa
            return ResourceRecord(name, type, .address(address), timeToLive: RecordSet.hostLifetime)
        }
        return set
    }
}
