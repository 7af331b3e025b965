// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
public import OrderedJSON

/// `route.changed`: the kernel announced a route that passes the socket filter (rule S3); at debug only, for it decides
/// nothing.
public struct RouteChanged: EventBody, MemberDeclaring {
    let family: String
    let prefixLength: Int
    let table: UInt32
    let isRemoved: Bool
    let cause: EventCause

    /// Describes the announcement.
    ///
    /// - Parameters:
    ///   - family: `ipv4` or `ipv6`.
    ///   - prefixLength: The length of the route's prefix.
    ///   - table: The table it stands in.
    ///   - isRemoved: Whether it is gone.
    ///   - cause: The kernel's message.
    public init(family: String, prefixLength: Int, table: UInt32, isRemoved: Bool, cause: EventCause) {
        self.family = family
        self.prefixLength = prefixLength
        self.table = table
        self.isRemoved = isRemoved
        self.cause = cause
    }

    public var name: EventName { .routeChanged }
    public var severity: Severity { .debug }
    public var message: String {
        let label = family == "ipv4" ? "IPv4" : "IPv6"
        let verb = isRemoved ? "removed from" : "added to"
        return "\(label) route of length \(prefixLength) \(verb) table \(table)"
    }

    public static let members = Members<Self>.object()
        .member(
            "route",
            of: .object()
                .added("family", as: .family) { $0.family }
                .added("prefix_length", as: .integer(from: 0, to: 128)) { $0.prefixLength }
                .added("table", "The table it stands in.") { Int($0.table) }
                .added("removed", "Whether it is gone.") { $0.isRemoved }
        )
        .added("cause") { $0.cause }
}
