// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
public import OrderedJSON

/// `route.changed`: the kernel announced a route that passes the socket filter (rule S3); at debug only, for it decides
/// nothing.
public struct RouteChanged: EventBody {
    struct Route: JSONObjectWritable, Sendable {
        let family: String
        let prefixLength: Int
        let table: UInt32
        let removed: Bool

        func write(to object: inout JSONObjectWriter) {
            object.write("family", family)
            object.write("prefix_length", prefixLength)
            object.write("table", Int(table))
            object.write("removed", removed)
        }
    }

    let route: Route
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
        route = Route(family: family, prefixLength: prefixLength, table: table, removed: isRemoved)
        self.cause = cause
    }

    public var name: EventName { .routeChanged }
    public var severity: Severity { .debug }
    public var message: String {
        let label = route.family == "ipv4" ? "IPv4" : "IPv6"
        let verb = route.removed ? "removed from" : "added to"
        return "\(label) route of length \(route.prefixLength) \(verb) table \(route.table)"
    }

    public func write(to object: inout JSONObjectWriter) {
        object.write("route", route)
        object.write("cause", cause)
    }
}

extension RouteChanged {
    public static var form: Form {
        .object()
            .member("route", Route.form)
            .added("cause", EventCause.form)
    }
}

extension RouteChanged.Route {
    static var form: Form {
        .object()
            .added("family", .family)
            .added("prefix_length", .integer(from: 0, to: 128))
            .added("table", .count, "The table it stands in.")
            .added("removed", .truth, "Whether it is gone.")
    }
}
