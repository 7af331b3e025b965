// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire

/// Which records somebody wants: those of the services that are shown or being resolved (rule Q7).
struct Interest: Sendable {
    /// Types whose instances are wanted.
    var types: Set<DomainName> = []
    /// Instances whose location and text are wanted.
    var instances: Set<DomainName> = []
    /// Instances that were reported; what they stand on must not make room for others.
    var reported: Set<DomainName> = []
    /// Hosts whose addresses are wanted, and the instances that want them.
    var hosts: [DomainName: Set<DomainName>] = [:]
    /// Records that a client wants by themselves.
    var watched: Set<RecordKey> = []

    func contains(_ key: RecordKey) -> Bool {
        if !watched.isEmpty && watched.contains(key) { return true }
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
        if record.type != .ptr && watched.contains(RecordKey(record.name, record.type)) { return true }
        return switch record.data {
        case .pointer(let target): reported.contains(target)
        case .service, .text: reported.contains(record.name)
        case .address, .nextSecure: hosts[record.name]?.isDisjoint(with: reported) == false
        default: false
        }
    }
}
