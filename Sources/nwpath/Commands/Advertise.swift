// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire
internal import Documents
internal import Glibc
internal import LinuxIO
internal import MulticastDNS
internal import OrderedJSON

/// `nwpath advertise`: advertises a service on the local links while it runs.
struct Advertise: Command {
    var request = AdvertiseRequest()
    var keepsName = false
    var timeout: Duration?

    static let specification = Specification<Advertise>(
        "advertise",
        "Advertises a service on the local network by multicast DNS while it runs.",
        discussion: """
            It sends on the network itself and needs no service. The name is probed first; when it is taken, the \
            service is announced as 'NAME (2)' and so on, unless --no-rename. At the end it sends a goodbye. Where \
            no interface is up yet it waits for one, unless --timeout.

            The service runs on this machine, unless --host is given: then another machine answers for that host, \
            or, with --address, the host name is claimed as well. --json prints one object per line (JSON lines): \
            event is registered, renamed, updated, conflict or withdrawn.
            """,
        examples: [
            CommandExample("nwpath advertise 'My Web' _http._tcp 8080 path=/start", "until Ctrl-C"),
            CommandExample("nwpath advertise Exporter _prometheus-http._tcp 9100 path=/metrics", "for scraping"),
            CommandExample(
                "nwpath advertise Scanner _uscan._tcp 80 --host scanner --address 192.0.2.7 --subtype _eSCL",
                "on behalf of another device"
            ),
        ],
        arguments: [
            .positional("NAME", into: \.request.name, .text, help: "The name of the service."),
            .positional("TYPE", into: \.request.type, .text, help: "Its type, such as _http._tcp."),
            .positional("PORT", into: \.request.port, .text, help: "Its port; 0 reserves the name only."),
            .positionals("KEY=VALUE", into: \.request.pairs, .text, help: "A pair of the TXT record."),
            .options("--subtype", value: "NAME", into: \.request.subtypes, .text, help: "Add this subtype."),
            .option("--host", value: "NAME", into: \.request.host, .text, help: "The host it runs on, below .local."),
            .options("--address", value: "ADDR", into: \.request.addresses, .address, help: "An address of --host."),
            .interface(into: \.request.interface, help: "On this interface only."),
            .flag("--no-rename", into: \.keepsName, help: "Stop when the name is taken."),
            .option("--timeout", value: "DUR", into: \.timeout, .duration, help: "Stop after this time; 0 = never."),
        ],
        common: [.output, .messages],
        exits: [
            ExitNote(.success, "advertised and withdrawn"), ExitNote(.negative, "the name is taken"),
            ExitNote(.usage), ExitNote(.timedOut, "timed out before the name was probed"), ExitNote(.interrupted),
        ],
        check: { $0.request.complaint }
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            guard var service = try? request.registration() else { return .usage }
            service.allowsRenaming = !keepsName
            let limit = timeout.flatMap { $0 == .zero ? nil : $0 }
            let direct = try DirectEngine(
                interface: request.interface,
                waits: limit == nil,
                isQuiet: common.isQuiet
            )
            service.interfaces = direct.interface.map { [$0] }
            var state = AdvertiseState()
            try direct.handleSignals([SIGINT, SIGTERM]) { signal in
                state.isInterrupted = signal == SIGINT
                direct.stop()
            }
            do throws(RegistrationError) {
                try direct.engine.advertise(service) { [unowned direct] event in
                    state.handle(event)
                    show(AdvertiseLine.object(event, clock: direct.clock), common)
                    if state.isRefused { direct.stop() }
                }
            } catch {
                throw CommandFailure(error.description, .usage)
            }
            direct.run(limit: limit)
            if let name = state.name { show(AdvertiseLine.withdrawn(name, clock: direct.clock), common) }
            return state.status
        }
    }

    private func show(_ object: JSONValue, _ common: CommonOptions) {
        if common.isJSON { return Terminal.print((try? Screen.line(object)) ?? []) }
        Terminal.print(TextRenderer(Screen(common), now: KernelClock().wall).style(AdvertiseLine.text(object)))
    }
}

struct AdvertiseState: Equatable {
    /// The name others see; `nil` before it is registered.
    private(set) var name: DomainName?
    /// Whether the name is taken, and no other is allowed.
    private(set) var isRefused = false
    var isInterrupted = false

    mutating func handle(_ event: AdvertisementEvent) {
        switch event.kind {
        case .registered(let new), .updated(let new): name = new
        case .renamed(_, let new): if name != nil { name = new }
        case .conflict:
            name = nil
            isRefused = true
        }
    }

    var status: ExitStatus {
        if isRefused { return .negative }
        if isInterrupted { return .interrupted }
        return name == nil ? .timedOut : .success
    }
}

/// What becomes of an advertisement, for people and for programs.
enum AdvertiseLine {
    /// The object: `time`, `event`, `name`, `type`, and the former name of a renamed one.
    static func object(_ event: AdvertisementEvent, clock: some TimeSource) -> JSONValue {
        switch event.kind {
        case .registered(let name): object("registered", name, clock)
        case .updated(let name): object("updated", name, clock)
        case .conflict(let name): object("conflict", name, clock)
        case .renamed(let old, let new): object("renamed", new, clock, from: old)
        }
    }

    static func withdrawn(_ name: DomainName, clock: some TimeSource) -> JSONValue { object("withdrawn", name, clock) }

    static func text(_ object: JSONValue) -> String {
        let name = "\(object.text("name")) (\(object.text("type")))"
        switch object.text("event") {
        case "registered": return "+ \(name) is registered"
        case "renamed": return "! \(object.text("previous_name")) is taken; it is \(name) now"
        case "conflict": return "✗ \(name) is taken"
        case "withdrawn": return "- \(name) is withdrawn"
        default: return "~ \(name) is \(object.text("event"))"
        }
    }

    private static func object(
        _ event: String,
        _ name: DomainName,
        _ clock: some TimeSource,
        from old: DomainName? = nil
    ) -> JSONValue {
        members.value(of: ("\(clock.wall)", event, name, old))
    }

    static let members = Members<(time: String, event: String, name: DomainName, old: DomainName?)>
        .document("Advertise", "What becomes of an advertisement.")
        .member("time", as: .time) { $0.time }
        .member("event", as: .words("registered", "updated", "conflict", "renamed", "withdrawn")) { $0.event }
        .member("name", "The name of the service.") { label(of: $0.name) }
        .member("type", as: .serviceType) { "\($0.name.parent.prefix(2))" }
        .member("instance", "The whole name.") { "\($0.name)" }
        .optional("previous_name", "The name that was taken, of `renamed`.") { $0.old.map(label) }

    private static func label(of name: DomainName) -> String { SafeText.text(of: name.firstLabel ?? []) }
}

extension ArgumentForm where Value == IPAddress {
    static let address = ArgumentForm("an address such as 192.0.2.7 or 2001:db8::7", parse: { IPAddress($0) })
}
