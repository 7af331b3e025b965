// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import Diagnosis
public import OrderedJSON

/// What was found out about the destination of `nwpath diagnose HOST|URL`.
public struct DestinationDocument: JSONObjectWritable, Equatable, Sendable {
    public var target: String
    public var host: String
    public var port: Int?
    public var lookupSeconds: Double?
    public var addresses: [Address]
    public var status: Int?
    public var location: String?

    public func write(to object: inout JSONObjectWriter) {
        object.write("target", target)
        object.write("host", host)
        object.write("port", port)
        object.write("lookup_seconds", lookupSeconds)
        object.write("addresses", addresses)
        object.write("status", status)
        object.write("location", location)
    }

    public struct Address: JSONObjectWritable, Equatable, Sendable {
        public var address: String
        public var interface: InterfaceReference?
        public var gateway: String?
        public var echo: Bool?
        public var echoSeconds: Double?
        /// `connected`, `refused` or `silent`; `null` when no connection was tried.
        public var connection: String?
        public var connectSeconds: Double?

        public func write(to object: inout JSONObjectWriter) {
            object.write("address", address)
            object.write("interface", interface)
            object.write("gateway", gateway)
            object.write("echo", echo)
            object.write("echo_seconds", echoSeconds)
            object.write("connection", connection)
            object.write("connect_seconds", connectSeconds)
        }

        public init(_ path: DestinationEvidence.Path) {
            address = "\(path.address)"
            if case .found(let interface, let gateway)? = path.route.value {
                self.interface = InterfaceReference(named: interface)
                self.gateway = gateway.map { "\($0)" }
            }
            echo = path.echo.value
            echoSeconds = path.roundTrip.map(Microseconds.round)
            connection = path.connection.value?.rawValue
            connectSeconds = path.connectTime.map(Microseconds.round)
        }
    }

    public init(_ destination: DestinationEvidence) {
        target = destination.text
        host = destination.host
        addresses = destination.paths.map(Address.init)
        port = destination.port.map(Int.init)
        lookupSeconds = destination.lookupTime.map(Microseconds.round)
        if case .answered(let status, let location, _)? = destination.exchange.value {
            self.status = status
            self.location = location
        }
    }

    /// To the hundredth.
}

extension DestinationDocument {
    static var form: Form {
        .object("What was found out about the destination.")
            .member("target", .text)
            .member("host", .text, "The name or address of the host.")
            .member("port", .integer(from: 0, to: 65535).orNull, "`null` for a host.")
            .member("lookup_seconds", .seconds.orNull, "How long looking up the name took; `null` for an address.")
            .member("addresses", .list(of: Address.form), "The preferred ones first, three of each family at most.")
            .member("status", .count.orNull, "The status of the HTTP answer; `null` without one.")
            .member("location", .text.orNull, "Where the answer leads; `null` unless it is a redirect.")
    }
}

extension DestinationDocument.Address {
    static var form: Form {
        .object()
            .member("address", .text)
            .member("interface", InterfaceReference.form.orNull, "That packets leave by; `null` without a route.")
            .member("gateway", .text.orNull, "The router they are handed to; `null` when the host is on the link.")
            .member("echo", .truth.orNull, "Whether it answers ICMP echo; `null` when it was not tested.")
            .member("echo_seconds", .seconds.orNull, "The median round trip.")
            .member("connection", .words("connected", "refused", "silent").orNull, "`null` when none was tried.")
            .member("connect_seconds", .seconds.orNull, "How long a connection took.")
    }
}
