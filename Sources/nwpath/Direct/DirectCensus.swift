// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
internal import EventHub
internal import LinuxIO
internal import MulticastDNS
internal import OrderedJSON

/// Looks for services itself, without the daemon: an own census on an own engine.
///
/// Confined to the thread that made it.
final class DirectCensus {
    private let direct: DirectEngine
    private let census: ServiceCensus
    private(set) var isComplete = false

    /// Prepares a census on all interfaces, or on one; see ``DirectEngine``.
    ///
    /// - Throws: A failure when there is no netlink, or nothing to look on.
    init(interface: String?, waits: Bool, isQuiet: Bool) throws(CommandFailure) {
        direct = try DirectEngine(interface: interface, waits: waits, isQuiet: isQuiet)
        census = ServiceCensus(direct.engine)
    }

    /// Takes one census.
    ///
    /// - Parameter limit: When to stop in any case.
    /// - Returns: The services, as `/api/v1/services` lists them.
    func list(limit: Duration) -> JSONValue {
        run(limit: limit) { [unowned self] event in
            guard case .censusCompleted = event else { return }
            isComplete = true
            direct.stop()
        }
        let clock = direct.clock
        var object = Self.state("services", at: clock.wall)
        object["services"] = .array(
            census.services.map { ServiceDocument.members.value(of: ServiceDocument($0, clock: clock)) }
        )
        return .object(object)
    }

    /// Tells what comes and goes.
    ///
    /// - Parameters:
    ///   - limit: When to stop; `nil` is never.
    ///   - prefix: How the names of the events begin that are told.
    ///   - show: Takes an event like one of the daemon's, as one line of JSON.
    func follow(limit: Duration?, events prefix: String, show: @escaping ([UInt8]) -> Void) {
        run(limit: limit) { [unowned self] event in
            guard let body = event.body(as: { [direct] in ServiceDocument($0, clock: direct.clock) }),
                body.name.rawValue.hasPrefix(prefix), let line = line(body)
            else { return }
            show(line)
        }
    }

    private func run(limit: Duration?, onEvent: @escaping (ServiceEvent) -> Void) {
        census.start(onEvent: onEvent)
        direct.run(limit: limit)
    }

    private func line(_ body: some EventBody) -> [UInt8]? {
        try? OrderedJSONEncoder().encode(EventLine(time: direct.clock.wall, body: body), terminator: 0x0A)
    }

    /// The members with which a document of the state begins, without those that only the service knows.
    static func state(_ kind: String, at time: WallTime) -> JSONObject {
        StateDocument.members.value(of: StateDocument(kind, time: time, host: HostName.current)).object ?? JSONObject()
    }
}

/// An event as the daemon tells it, without its place in a stream.
struct EventLine<Body: EventBody>: JSONObjectWritable {
    let time: WallTime
    let body: Body

    func write(to object: inout JSONObjectWriter) {
        object.write("schema", DocumentSchema.name(of: "census"))
        object.write("time", "\(time)")
        object.write("event", body.name.rawValue)
        object.write("severity", body.severity.rawValue)
        object.write("message", body.message)
        body.write(to: &object)
    }
}

// MARK: - Forms

extension DirectCensus {
    static var form: Form {
        let names = EventName.allCases.filter { $0.rawValue.hasPrefix("service") }
        return .either(of: names.map(line)).about("What comes and goes.").named("Census")
    }

    private static func line(_ name: EventName) -> Form {
        .object()
            .member("schema", .constant(DocumentSchema.name(of: "census")))
            .member("time", .time)
            .member("event", .constant(name.rawValue))
            .member("severity", .oneOf(Severity.self))
            .member("message", .text, "One sentence for people.")
            .members(of: name.form)
    }
}
