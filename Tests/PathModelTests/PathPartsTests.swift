// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import PathModel
import Testing

/// Copies of a path share their parts until one of them changes.
@Suite struct PathPartsTests {
    /// One part changed, and the field that tells it.
    struct Change: Sendable, CustomTestStringConvertible {
        let field: PathField
        let body: @Sendable (inout Path) -> Void

        init(_ field: PathField, _ body: @escaping @Sendable (inout Path) -> Void) {
            self.field = field
            self.body = body
        }

        var testDescription: String { field.rawValue }
    }

    private static let tunnel = PathInterface(name: "wg0", index: 9, type: .other)
    private static let way = FamilyPath(interfaces: [], gateways: [], source: .v6(1 << 120))
    private static let changes = [
        Change(.status) { $0.status = .requiresConnection },
        Change(.unsatisfiedReason) { $0.reason = .policy },
        Change(.unsatisfiedReason) { $0.subject = ReasonSubject(requirement: "require_vpn") },
        Change(.interfaces) { $0.interfaces.insert(tunnel, at: 0) },
        Change(.supportsIPv4) { $0.ipv4 = nil },
        Change(.supportsIPv6) { $0.ipv6 = nil },
        Change(.sources) { $0.ipv6 = way },
        Change(.gateways) { $0.ipv4?.gateways = [] },
        Change(.sources) { $0.ipv4?.source = .v4(1) },
        Change(.routes) { $0.ipv4?.interfaces = [] },
        Change(.dns) { $0.dns.search = ["example.net"] },
        Change(.supportsDNS) { $0.dns.isUsable.toggle() },
        Change(.isExpensive) { $0.isExpensive.toggle() },
        Change(.isConstrained) { $0.isConstrained.toggle() },
        Change(.isUltraConstrained) { $0.isUltraConstrained.toggle() },
        Change(.linkQuality) { $0.linkQuality = .minimal },
        Change(.underlyingTypes) { $0.underlyingTypes = [.cellular] },
        Change(.warnings) { $0.warnings.append(.expiring) },
    ]

    @Test(arguments: changes)
    func `a copy that changes leaves the path it was copied from, and its identity, alone`(change: Change) {
        let path = World.ordinary().path()
        let identity = path.pathId
        var copy = path
        #expect(copy == path && copy.pathId == identity)
        change.body(&copy)
        #expect(path == World.ordinary().path() && path.pathId == identity)
        #expect(copy != path && copy.pathId != identity)
        #expect(PathField.differences(path, copy).contains(change.field))
        #expect(Set([path, copy]).count == 2)
        var second = path
        change.body(&second)
        #expect(second == copy && second.hashValue == copy.hashValue && second.pathId == copy.pathId)
    }

    @Test(arguments: changes)
    func `a part that is set back makes the path what it was`(change: Change) {
        let path = World.ordinary().path()
        var copy = path
        change.body(&copy)
        copy.status = path.status
        copy.reason = path.reason
        copy.subject = path.subject
        copy.interfaces = path.interfaces
        copy.ipv4 = path.ipv4
        copy.ipv6 = path.ipv6
        copy.dns = path.dns
        copy.isExpensive = path.isExpensive
        copy.isConstrained = path.isConstrained
        copy.isUltraConstrained = path.isUltraConstrained
        copy.linkQuality = path.linkQuality
        copy.underlyingTypes = path.underlyingTypes
        copy.warnings = path.warnings
        #expect(copy == path && copy.pathId == path.pathId && copy.hashValue == path.hashValue)
        #expect(PathField.differences(path, copy).isEmpty)
    }

    @Test func `without a network there is nothing in a path`() {
        let path = Path()
        #expect(path.status == .unsatisfied)
        #expect(path.reason == .noInterface)
        #expect(path.subject == nil)
        #expect(path.interfaces.isEmpty)
        #expect(path.ipv4 == nil && !path.supportsIPv4)
        #expect(path.ipv6 == nil && !path.supportsIPv6)
        #expect(path.dns == DNSState() && !path.supportsDNS)
        #expect(path.gateways.isEmpty)
        #expect(!path.isExpensive && !path.isConstrained && !path.isUltraConstrained)
        #expect(path.linkQuality == .unknown)
        #expect(path.underlyingTypes.isEmpty)
        #expect(path.warnings.isEmpty)
        #expect(path == Path() && path.pathId == Path().pathId)
    }

    @Test func `threads that ask for an identity at once get the same one`() async {
        let paths = (0..<100).map { _ in World.ordinary().path() }
        let found = await withTaskGroup(of: String.self) { group in
            for place in 0..<400 { group.addTask { paths[place % 100].pathId } }
            return await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(found == ["e7a08b46f8df1846"])
    }
}
