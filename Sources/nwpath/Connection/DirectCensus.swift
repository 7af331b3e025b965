// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CommandLineKit
internal import Documents
internal import EventHub
internal import LinuxIO
internal import MulticastDNS
internal import OrderedJSON

/// Looks for services itself, without the daemon: an own census on an own loop.
///
/// Confined to the thread that made it.
final class DirectCensus {
    /// How often interfaces are looked at again while watching.
    private static let refresh = Duration.seconds(5)

    private let loop: EventLoop
    private let census: ServiceCensus
    private let links: DirectLinks
    private let clock = KernelClock()
    private(set) var isComplete = false
    /// Takes each event while watching.
    private var onEvent: ((JSONValue) -> Bool)?

    /// Prepares a census on all interfaces, or on one.
    ///
    /// - Throws: A failure when there is no netlink, or nothing to look on.
    init(interface: String?) throws(CommandFailure) {
        links = try DirectLinks(interface: interface)
        do {
            loop = try EventLoop()
        } catch {
            throw CommandFailure("cannot make an event loop: \(error)", .negative)
        }
        census = ServiceCensus(loop: loop, clock: clock)
        census.setInterfaces(try links.current())
    }

    /// Takes one census.
    ///
    /// - Parameter limit: When to stop in any case.
    /// - Returns: The services, as `/api/v1/services` lists them.
    func list(limit: Duration) -> JSONValue {
        census.onEvent = { [unowned self] event in
            guard case .censusCompleted = event else { return }
            isComplete = true
            loop.stop()
        }
        run(limit: limit)
        let clock = clock
        return Self.document("services", census.services.map { ServiceDocument($0, clock: clock) })
    }

    /// Tells what comes and goes until `show` says that it is enough.
    ///
    /// - Parameters:
    ///   - limit: When to stop; `nil` is never.
    ///   - show: Takes an event like one of the daemon's; `false` ends the watch.
    func watch(limit: Duration?, show: @escaping (JSONValue) -> Bool) {
        onEvent = show
        census.onEvent = { [unowned self] event in
            guard let body = ServiceEventText.body(of: event, clock: clock) else { return }
            if !tell(body) { loop.stop() }
        }
        refreshInterfaces()
        run(limit: limit)
    }

    private func run(limit: Duration?) {
        census.start()
        if let limit { loop.schedule(after: limit) { [loop] in loop.stop() } }
        loop.run()
    }

    private func tell(_ body: some EventBody) -> Bool {
        guard let onEvent, let value = Self.value(body), let members = value.object else { return true }
        var object = JSONObject()
        object["time"] = .string("\(clock.wall)")
        object["event"] = .string(body.name.rawValue)
        object["severity"] = .string(body.severity.rawValue)
        object["message"] = .string(body.message)
        for member in members.members { object[member.key] = member.value }
        return onEvent(.object(object))
    }

    private func refreshInterfaces() {
        loop.schedule(after: Self.refresh) { [unowned self] in
            if let found = try? links.current() { census.setInterfaces(found) }
            refreshInterfaces()
        }
    }

    static func document(_ name: String, _ services: [ServiceDocument]) -> JSONValue {
        var object = JSONObject()
        object[name] = .array(services.compactMap(value))
        return .object(object)
    }

    /// A document as a value.
    static func value(_ document: some Encodable) -> JSONValue? {
        guard let bytes = try? OrderedJSONEncoder().encode(document) else { return nil }
        return try? JSONValue(parsing: bytes)
    }
}

/// Census reports as bodies of events, as the daemon publishes them.
enum ServiceEventText {
    /// The body; `nil` for what is no event.
    static func body(of event: ServiceEvent, clock: some TimeSource) -> (any EventBody)? {
        func document(_ service: Service) -> ServiceDocument { ServiceDocument(service, clock: clock) }
        switch event {
        case .typeAdded(let type): return ServiceTypeChanged(type: type, isAdded: true)
        case .typeRemoved(let type): return ServiceTypeChanged(type: type, isAdded: false)
        case .added(let service): return ServiceAdded(document(service))
        case .changed(let service, let fields, let previous):
            return ServiceChanged(document(service), changed: fields, previous: document(previous))
        case .removed(let service, let reason, let seenFor):
            return ServiceRemoved(document(service), reason: reason, seenFor: seenFor)
        case .resolveFailed(let service): return ServiceResolveFailed(service)
        case .censusProvisional: return nil
        case .censusCompleted(let summary): return CensusCompleted(summary)
        }
    }
}
