// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import Diagnosis
public import OrderedJSON

/// What was found out about the destination of `nwpath diagnose HOST|URL`.
public struct DestinationDocument: MemberDeclaring, Equatable, Sendable {
    let destination: DestinationEvidence

    public init(_ destination: DestinationEvidence) { self.destination = destination }

    public static let members = Members<Self>.object("What was found out about the destination.")
        .member("target") { $0.destination.text }
        .member("host", "The name or address of the host.") { $0.destination.host }
        .member("port", as: .integer(from: 0, to: 65535), "`null` for a host.") { $0.destination.port.map(Int.init) }
        .member("lookup_seconds", as: .seconds, "How long looking up the name took; `null` for an address.") {
            $0.destination.lookupTime.map(Microseconds.round)
        }
        .member("addresses", "The preferred ones first, three of each family at most.", each: address) {
            $0.destination.paths
        }
        .member("status", "The status of the HTTP answer; `null` without one.") { $0.answer?.status }
        .member("location", "Where the answer leads; `null` unless it is a redirect.") { $0.answer?.location }

    private static let address = Members<DestinationEvidence.Path>.object()
        .member("address") { "\($0.address)" }
        .member("interface", "That packets leave by; `null` without a route.") { route(of: $0)?.interface }
        .member("gateway", "The router they are handed to; `null` when the host is on the link.") {
            route(of: $0)?.gateway
        }
        .member("echo", "Whether it answers ICMP echo; `null` when it was not tested.") { $0.echo.value }
        .member("echo_seconds", as: .seconds, "The median round trip.") { $0.roundTrip.map(Microseconds.round) }
        .member(
            "connection",
            as: .words("connected", "refused", "silent", "blocked"),
            "`null` when none was tried; `blocked` by this machine itself."
        ) {
            $0.connection.value?.rawValue
        }
        .member("connect_seconds", as: .seconds, "How long a connection took.") {
            $0.connectTime.map(Microseconds.round)
        }

    private var answer: (status: Int, location: String?)? {
        guard case .answered(let status, let location, _)? = destination.exchange.value else { return nil }
        return (status, location)
    }

    private static func route(
        of path: DestinationEvidence.Path
    ) -> (interface: InterfaceReference, gateway: String?)? {
        guard case .found(let interface, let gateway)? = path.route.value else { return nil }
        return (InterfaceReference(named: interface), gateway.map { "\($0)" })
    }
}
