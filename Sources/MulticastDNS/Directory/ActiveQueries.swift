// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire

/// Which records somebody wants: those of the services that are shown or being resolved (rule Q7).
struct ActiveQueries: Sendable {
    /// Types whose instances are wanted.
    var types: Set<DomainName> = []
    /// Instances whose location and text are wanted.
    var instances: Set<DomainName> = []
    /// Instances that were reported; what they stand on must not make room for others.
    private(set) var reported: Set<DomainName> = []
    /// Hosts whose addresses are wanted, and the instances that want them.
    private(set) var hosts: [DomainName: Set<DomainName>] = [:]
    /// How many of a host's instances were reported: some hosts have thousands.
    private var reportedOfHost: [DomainName: Int] = [:]
    /// Records that a client wants by themselves.
    var records: Set<RecordKey> = []

    func contains(_ key: RecordKey) -> Bool {
        if !records.isEmpty && records.contains(key) { return true }
        return switch key.type {
        case .ptr: types.contains(key.name)
        case .srv, .txt: instances.contains(key.name)
        // An NSEC record comes along with the addresses, and is not refreshed by itself.
        case .a, .aaaa: hosts[key.name] != nil
        default: false
        }
    }

    /// Whether a reported service stands on this record.
    func protects(_ record: ResourceRecord) -> Bool {
        if record.type != .ptr && records.contains(RecordKey(record.name, record.type)) { return true }
        return switch record.data {
        case .pointer(let target): reported.contains(target)
        case .service, .text: reported.contains(record.name)
        case .address, .nextSecure: reportedOfHost[record.name] != nil
        default: false
        }
    }

    /// Notes whether an instance was reported, which stands on `host`.
    mutating func setReported(_ isReported: Bool, _ instance: DomainName, on host: DomainName?) {
        let hasChanged = isReported ? reported.insert(instance).inserted : reported.remove(instance) != nil
        if hasChanged { count(isReported ? 1 : -1, on: host) }
    }

    /// Notes which host an instance stands on.
    mutating func setHost(_ host: DomainName?, of instance: DomainName, was old: DomainName?) {
        guard host != old else { return }
        let isReported = reported.contains(instance)
        if let old {
            hosts[old]?.remove(instance)
            if hosts[old]?.isEmpty == true { hosts[old] = nil }
            if isReported { count(-1, on: old) }
        }
        guard let host else { return }
        hosts[host, default: []].insert(instance)
        if isReported { count(1, on: host) }
    }

    private mutating func count(_ change: Int, on host: DomainName?) {
        guard let host else { return }
        let number = reportedOfHost[host, default: 0] + change
        reportedOfHost[host] = number > 0 ? number : nil
    }
}
