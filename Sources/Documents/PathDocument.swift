// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import OrderedJSON
public import PathModel

/// A path as events, routes and commands show it.
public struct PathDocument: JSONObjectWritable, Equatable, Sendable {
    /// `satisfied`, `unsatisfied` or `requiresConnection`.
    public var status: PathStatus
    /// Why not, such as `no_carrier`; `null` when satisfied.
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
    /// Sixteen hexadecimal digits; equal exactly for equal paths.
    public var pathID: String
    public var message: String?
    public var hint: String?

    public func write(to object: inout JSONObjectWriter) {
        object.write("status", status.rawValue)
        object.write("unsatisfied_reason", unsatisfiedReason?.rawValue)
        object.write("interfaces", interfaces)
        object.write("is_expensive", isExpensive)
        object.write("is_constrained", isConstrained)
        object.write("supports_ipv4", supportsIPv4)
        object.write("supports_ipv6", supportsIPv6)
        object.write("supports_dns", supportsDNS)
        object.write("gateways", gateways)
        object.write("is_ultra_constrained", isUltraConstrained)
        object.write("link_quality", linkQuality.rawValue)
        object.write("sources", sources)
        object.write("underlying_types", underlyingTypes.map(\.rawValue))
        object.write("warnings", warnings.map(\.rawValue))
        object.write("path_id", pathID)
        object.write("message", message)
        object.write("hint", hint)
    }

    public struct Interface: JSONObjectWritable, Equatable, Sendable {
        public var name: String
        public var index: Int
        public var type: InterfaceType

        public func write(to object: inout JSONObjectWriter) {
            object.write("name", name)
            object.write("index", index)
            object.write("type", type.rawValue)
        }
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

extension PathDocument {
    public static var form: Form {
        .named("Path", "The state that a program would see if it connected now.")
            .member("status", .oneOf(PathStatus.self))
            .member("unsatisfied_reason", .oneOf(UnsatisfiedReason.self).orNull, "Why not; `null` when satisfied.")
            .member("interfaces", .list(of: Interface.form), "The interfaces that can carry traffic, best first.")
            .member("is_expensive", .truth)
            .member("is_constrained", .truth, "Whether programs should spare traffic.")
            .member("supports_ipv4", .truth, "Whether IPv4 packets leave.")
            .member("supports_ipv6", .truth, "Whether IPv6 packets leave.")
            .member("supports_dns", .truth)
            .member("gateways", .list(of: .text), "The routers in use, such as `192.0.2.1` and `fe80::1%eth0`.")
            .added("is_ultra_constrained", .truth, "Whether programs should send very little.")
            .added("link_quality", .oneOf(LinkQuality.self), "The quality of the first link.")
            .added("sources", .list(of: .text), "The addresses packets come from: one a family.")
            .added("underlying_types", .list(of: .oneOf(InterfaceType.self)), "The types under the tunnels in use.")
            .added("warnings", .list(of: .oneOf(PathWarning.self)), "What works but should be checked.")
            .added("path_id", .pattern("^[0-9a-f]{16}$"), "Equal exactly for equal paths.")
            .member("message", .text.orNull, "The reason, for people; `null` when satisfied.")
            .member("hint", .text.orNull, "What to do about it; `null` without advice.")
    }
}

extension PathDocument.Interface {
    static var form: Form {
        .named("PathInterface", "An interface of a path.")
            .member("name", .text)
            .added("index", .integer(from: 1))
            .added("type", .oneOf(InterfaceType.self), "What it is, in Apple's words.")
    }
}
