// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import OrderedJSON
public import PathModel

/// A path as events, routes and commands show it.
public struct PathDocument: MemberDeclaring, Equatable, Sendable {
    public var status: PathStatus
    public var unsatisfiedReason: UnsatisfiedReason?
    public var interfaces: [Interface]
    public var isExpensive: Bool
    public var isConstrained: Bool
    public var supportsIPv4: Bool
    public var supportsIPv6: Bool
    public var supportsDNS: Bool
    public var gateways: [String]
    public var isUltraConstrained: Bool
    public var linkQuality: LinkQuality
    public var sources: [String]
    public var underlyingTypes: [InterfaceType]
    public var warnings: [PathWarning]
    public var pathID: String
    public var message: String?
    public var hint: String?

    public static let members = Members<Self>.named("Path", "The state that a program would see if it connected now.")
        .member("status", as: .oneOf(PathStatus.self)) { $0.status.rawValue }
        .member("unsatisfied_reason", as: .oneOf(UnsatisfiedReason.self), "Why not; `null` when satisfied.") {
            $0.unsatisfiedReason?.rawValue
        }
        .member("interfaces", "The interfaces that can carry traffic, best first.") { $0.interfaces }
        .member("is_expensive") { $0.isExpensive }
        .member("is_constrained", "Whether programs should spare traffic.") { $0.isConstrained }
        .member("supports_ipv4", "Whether IPv4 packets leave.") { $0.supportsIPv4 }
        .member("supports_ipv6", "Whether IPv6 packets leave.") { $0.supportsIPv6 }
        .member("supports_dns") { $0.supportsDNS }
        .member("gateways", "The routers in use, such as `192.0.2.1` and `fe80::1%eth0`.") { $0.gateways }
        .added("is_ultra_constrained", "Whether programs should send very little.") { $0.isUltraConstrained }
        .added("link_quality", as: .oneOf(LinkQuality.self), "The quality of the first link.") {
            $0.linkQuality.rawValue
        }
        .added("sources", "The addresses packets come from: one a family.") { $0.sources }
        .added("underlying_types", as: .oneOf(InterfaceType.self), "The types under the tunnels in use.") {
            $0.underlyingTypes.map(\.rawValue)
        }
        .added("warnings", as: .oneOf(PathWarning.self), "What works but should be checked.") {
            $0.warnings.map(\.rawValue)
        }
        .added("path_id", as: .pattern("^[0-9a-f]{16}$"), "Equal exactly for equal paths.") { $0.pathID }
        .member("message", "The reason, for people; `null` when satisfied.") { $0.message }
        .member("hint", "What to do about it; `null` without advice.") { $0.hint }

    public struct Interface: MemberDeclaring, Equatable, Sendable {
        public var name: String
        public var index: Int
        public var type: InterfaceType

        public static let members = Members<Self>.named("PathInterface", "An interface of a path.")
            .member("name") { $0.name }
            .added("index", as: .integer(from: 1)) { $0.index }
            .added("type", as: .oneOf(InterfaceType.self), "What it is, in Apple's words.") { $0.type.rawValue }
    }

    public init(_ path: Path) {
        status = path.status
        unsatisfiedReason = path.reason
        interfaces = path.interfaces.map { Interface(name: $0.name, index: $0.index, type: $0.type) }
        isExpensive = path.isExpensive
        isConstrained = path.isConstrained
        supportsIPv4 = path.supportsIPv4
        supportsIPv6 = path.supportsIPv6
        supportsDNS = path.supportsDNS
        gateways = path.gateways.map { "\($0.address)" }
        isUltraConstrained = path.isUltraConstrained
        linkQuality = path.linkQuality
        sources = ((path.ipv4?.sources ?? []) + (path.ipv6?.sources ?? [])).map { "\($0)" }
        underlyingTypes = path.underlyingTypes
        warnings = path.warnings
        pathID = path.pathId
        let text = path.reason.map { ReasonText($0, path.subject) }
        message = text?.clause
        hint = text?.hint
    }
}
