// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// The 64-bit hash of everything material in a path (rule S41), the same on every machine and in every run.
///
/// It is FNV-1a over a canonical form in which every field has its length or its kind in front, so that two paths have
/// the same form only when they are equal.
public struct PathIdentity: Hashable, Sendable, CustomStringConvertible {
    public let value: UInt64

    public init(_ path: Path) {
        self = path.identity
    }

    init(_ fields: PathFields) {
        var bytes = CanonicalBytes()
        bytes.add(fields)
        value = bytes.hash
    }

    init(value: UInt64) {
        self.value = value
    }

    /// Sixteen hexadecimal digits, as `pathId` is shown.
    public var description: String {
        unsafe String(unsafeUninitializedCapacity: 16) { text in
            var rest = value
            unsafe text.initialize(repeating: 0)
            for position in (0..<16).reversed() {
                let digit = UInt8(truncatingIfNeeded: rest & 0xF)
                unsafe text[position] = digit < 10 ? 48 + digit : 87 + digit
                rest >>= 4
            }
            return 16
        }
    }
}

extension Path {
    /// The hash of everything material, as sixteen hexadecimal digits (rule S41).
    public var pathId: String { identity.description }
}

/// Feeds FNV-1a with fields in an unambiguous form.
private struct CanonicalBytes {
    private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325

    private mutating func add(byte: UInt8) {
        hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
    }

    mutating func add(_ number: Int) {
        let bits = UInt64(bitPattern: Int64(number))
        var shift: UInt64 = 0
        while shift < 64 {
            add(byte: UInt8(truncatingIfNeeded: bits >> shift))
            shift += 8
        }
    }

    mutating func add(_ flag: Bool) { add(byte: flag ? 1 : 0) }

    mutating func add(_ text: String) {
        let bytes = text.utf8Span.span
        add(bytes.count)
        for position in bytes.indices { add(byte: bytes[position]) }
    }

    mutating func add<Value>(_ value: Value?, _ body: (inout CanonicalBytes, Value) -> Void) {
        add(value != nil)
        if let value { body(&self, value) }
    }

    mutating func add<Value>(_ values: [Value], _ body: (inout CanonicalBytes, Value) -> Void) {
        add(values.count)
        for value in values { body(&self, value) }
    }

    mutating func add(_ address: IPAddress) {
        let width = address.family.bitWidth
        add(byte: UInt8(width / 8))
        for shift in stride(from: width - 8, through: 0, by: -8) {
            switch address {
            case .v4(let value): add(byte: UInt8(truncatingIfNeeded: value >> UInt32(shift)))
            case .v6(let value): add(byte: UInt8(truncatingIfNeeded: value >> UInt128(shift)))
            }
        }
    }

    mutating func add(_ address: ScopedAddress) {
        add(address.address)
        add(address.scope) { $0.add($1) }
    }

    mutating func add(_ interface: PathInterface) {
        add(interface.name)
        add(interface.index)
        add(interface.type.rawValue)
    }

    mutating func add(_ gateway: Gateway) {
        add(gateway.address)
        add(gateway.interface)
        add(gateway.family.rawValue)
        add(Int(gateway.metric))
        add(gateway.isReachable) { $0.add($1) }
    }

    mutating func add(_ family: FamilyPath) {
        add(family.interfaces) { $0.add($1) }
        add(family.gateways) { $0.add($1) }
        // Only multipath routes have several.
        for source in family.sources { add(network(of: source)) }
    }

    /// Temporary IPv6 addresses come and go while connections live on (RFC 8981): their network stands for them.
    private func network(of source: IPAddress) -> IPAddress {
        if case .v6(let value) = source { .v6((value >> 64) << 64) } else { source }
    }

    mutating func add(_ dns: DNSState) {
        add(dns.servers) { bytes, server in
            bytes.add(server.address)
            bytes.add(server.port) { $0.add(Int($1)) }
            bytes.add(server.interfaceIndex) { $0.add($1) }
        }
        add(dns.search) { $0.add($1) }
        add(dns.source)
        add(dns.isUsable)
        if let problem = dns.problem { add("\(problem)") }
    }

    mutating func add(_ subject: ReasonSubject) {
        add(subject.interface) { $0.add($1) }
        add(subject.family) { $0.add($1.rawValue) }
        add(subject.table) { $0.add(Int($1)) }
        add(subject.alternative) { $0.add($1) }
        add(subject.requirement) { $0.add($1) }
    }

    mutating func add(_ path: PathFields) {
        add(path.status.rawValue)
        add(path.reason) { $0.add($1.rawValue) }
        add(path.subject) { $0.add($1) }
        add(path.interfaces) { $0.add($1) }
        add(path.ipv4) { $0.add($1) }
        add(path.ipv6) { $0.add($1) }
        add(path.dns)
        add(path.isExpensive)
        add(path.isConstrained)
        add(path.isUltraConstrained)
        add(path.linkQuality.rawValue)
        add(path.underlyingTypes) { $0.add($1.rawValue) }
        add(path.warnings) { $0.add($1.rawValue) }
    }
}
