// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
internal import LinuxIO
internal import MulticastDNS
internal import OrderedJSON
internal import Spelling

/// `nwpath services`: what offers itself on the local links.
struct Services: Command {
    var type: String?
    var showsTypes = false
    var name: Glob?
    var interface: String?
    var follows = false
    var waitsForCensus = false
    var isDirect = false
    var showsPast = false

    /// How long an own census may take; it needs 7.5 s at most.
    private static let censusLimit = Duration.seconds(10)

    static let specification = Specification<Services>(
        "services",
        "Lists the services found by multicast DNS.",
        discussion: """
            The service takes a census periodically; the list is available at once. --direct queries the network \
            itself and needs no service; it ends when its census is complete, or after --timeout (10s).

            --json prints one object; with --watch one object per line (JSON lines), the list first. -v shows TXT \
            records, with the meaning of each known key.
            """,
        examples: [
            CommandExample("nwpath services", "all of them"),
            CommandExample("nwpath services _ipp._tcp -v", "printers, with their TXT records"),
            CommandExample("nwpath services --name 'Office*' --watch --json", "follow additions and removals"),
            CommandExample("nwpath services --direct --timeout 3s", "without the service"),
            CommandExample("nwpath services --past", "also those that were removed: since when, until when, why"),
        ],
        arguments: [
            .positional("TYPE", into: \.type, .text, help: "Services of this type only."),
            .flag("--types", into: \.showsTypes, help: "List the types instead."),
            .option("--name", value: "GLOB", into: \.name, .glob, help: "Services with this name only."),
            .interface(into: \.interface, help: "Services on this interface only."),
            .flag("--watch", into: \.follows, help: "Continue with changes."),
            .flag("--once", into: \.waitsForCensus, help: "Wait until a census is complete, then list."),
            .flag("--direct", into: \.isDirect, help: "Query the network itself, without the service."),
            .flag("--past", into: \.showsPast, help: "List all services ever seen."),
        ],
        exits: ServiceExits.all + [ExitNote(.negative, "nothing was found")],
        check: { command in
            if command.follows && command.waitsForCensus { return "give --watch or --once, not both" }
            if command.showsPast && (command.showsTypes || command.follows || command.isDirect) {
                return "--past cannot be combined with --types, --watch or --direct"
            }
            if let complaint = command.type.flatMap(Self.complaint) { return complaint }
            let hasFilter = command.type != nil || command.name != nil || command.interface != nil
            return command.showsTypes && hasFilter && !command.isDirect ? "--types takes no filter" : nil
        }
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            if isDirect { return try runDirect(common) }
            var connection = try ServiceConnection(common)
            if waitsForCensus { try Self.waitForCensus(&connection, limit: common.timeout ?? Self.censusLimit) }
            if showsTypes { return try showTypes(&connection, common) }
            let query = [(name: "type", value: type), (name: "interface", value: interface)]
            let route = "/api/v1/services" + (showsPast ? "/history" : "")
            let answer = try connection.get(RequestText.target(route, query))
            let selection = try selection(&connection)
            let shown = name == nil ? answer.value : selection.applied(to: answer.value)
            guard follows else { return try list(shown, common) }
            Terminal.endWithReader()
            try show(shown, common, isLine: true)
            return try follow(connection, selection, from: EventFeed.id(of: answer.value), common)
        }
    }

    /// What is to be shown; services tell the name of their interface, which may have been given by an alternative one.
    private func selection(_ connection: inout ServiceConnection) throws(CommandFailure) -> ServiceSelection {
        var selection = ServiceSelection(type: type, name: name, interface: interface)
        guard let interface, follows || name != nil else { return selection }
        let answer = try connection.get("/api/v1/interfaces/\(RequestText.encode(interface))", accepting: [404])
        selection.interface = answer.value["name"]?.string ?? interface
        return selection
    }

    /// What is wrong with a type; `nil` when nothing is.
    private static func complaint(_ type: String) -> String? {
        let labels = type.split(separator: ".", omittingEmptySubsequences: false)
        let isType = labels.count == 2 && labels[0].hasPrefix("_") && labels[0].utf8.count > 1
        guard !isType || !["_tcp", "_udp"].contains(labels[1]) else { return nil }
        let nearest = NameRules.nearestServiceType(to: type)
        let question = nearest.map { " (did you mean \(PrintableText.quote($0))?)" } ?? ""
        return "TYPE is \(PrintableText.quote(type)), expected a type such as _ipp._tcp\(question)"
    }

    // MARK: - From the daemon

    private func showTypes(
        _ connection: inout ServiceConnection,
        _ common: CommonOptions
    ) throws(CommandFailure) -> ExitStatus {
        let answer = try connection.get("/api/v1/services/types").value
        guard follows else { return try listTypes(answer, common) }
        Terminal.endWithReader()
        _ = try listTypes(answer, common, isLine: true)
        return try follow(connection, ServiceSelection(), from: EventFeed.id(of: answer), common)
    }

    private func follow(
        _ connection: ServiceConnection,
        _ selection: ServiceSelection,
        from position: String?,
        _ common: CommonOptions
    ) throws(CommandFailure) -> ExitStatus {
        let patterns = [showsTypes ? "service_type.*" : "service.*", "services.*"].compactMap { Glob($0) }
        let feed = EventFeed(patterns: patterns, position: position)
        var follower = EventFollower(connection, feed: feed, isQuiet: common.isQuiet)
        let (screen, isJSON) = (Screen(common), common.isJSON)
        try follower.follow { event in
            guard selection.concerns(event), !showsTypes || event["types"]?.array?.isEmpty != true else { return }
            Terminal.print(Watch.render(event, isJSON: isJSON, renderer: TextRenderer(screen, now: KernelClock().wall)))
        }
        return .success
    }

    /// Waits until the daemon has completed a census.
    private static func waitForCensus(
        _ connection: inout ServiceConnection,
        limit: Duration
    ) throws(CommandFailure) {
        let clock = KernelClock()
        let deadline = clock.boot + limit
        var tag: String?
        while true {
            let rest = deadline - clock.boot
            guard rest > .zero || limit == .zero else {
                throw CommandFailure("no census has completed yet; try a longer --timeout", .timedOut)
            }
            let longest = limit == .zero ? .seconds(30) : min(rest, .seconds(30))
            let milliseconds = max(1, longest.nanoseconds / 1_000_000)
            let answer = try connection.get(
                tag == nil ? "/api/v1/status" : "/api/v1/status?wait=\(milliseconds)ms",
                fields: tag.map { [("If-None-Match", $0)] } ?? [],
                accepting: [304],
                timeout: longest + .seconds(1)
            )
            tag = answer.tag
            guard !answer.value.isNull else { continue }
            guard let services = answer.value["services"] else {
                throw CommandFailure("service discovery is off (mdns.enabled); try --direct", .negative)
            }
            if services["last_census"]?.string != nil { return }
        }
    }

    // MARK: - From the network

    private func runDirect(_ common: CommonOptions) throws(CommandFailure) -> ExitStatus {
        let given = common.timeout.flatMap { $0 == .zero ? nil : $0 }
        let census = try DirectCensus(interface: interface, waits: follows && given == nil, isQuiet: common.isQuiet)
        // The census looks on no other interface.
        let (selection, isJSON) = (ServiceSelection(type: type, name: name), common.isJSON)
        guard follows else {
            let found = selection.applied(to: census.list(limit: given ?? Self.censusLimit))
            if !census.isComplete && !common.isQuiet {
                Terminal.complain("stopped before the census was complete; there may be more")
            }
            if showsTypes {
                let types = Set(found.list("services").map { $0.text("type") }).sorted()
                var object = DirectCensus.state("servicetypes", at: KernelClock().wall)
                object["types"] = .array(types.map { .string($0) })
                object["type_names"] = ServiceTypeNames.names(of: types)
                return try listTypes(.object(object), common)
            }
            let status = try list(found, common)
            return status == .negative && !census.isComplete ? .timedOut : status
        }
        Terminal.endWithReader()
        let screen = Screen(common)
        census.follow(limit: given, events: showsTypes ? "service_type." : "service.") { line in
            if isJSON && selection == ServiceSelection() { return Terminal.print(line) }
            guard let event = try? JSONValue(parsing: line), selection.concerns(event) else { return }
            if isJSON { return Terminal.print(line) }
            Terminal.print(Watch.render(event, isJSON: false, renderer: TextRenderer(screen, now: KernelClock().wall)))
        }
        return .success
    }

    // MARK: - Printing

    private func list(_ answer: JSONValue, _ common: CommonOptions) throws(CommandFailure) -> ExitStatus {
        try show(answer, common, isLine: false)
        guard answer.list("services").isEmpty else { return .success }
        if !common.isJSON && !common.isQuiet { Terminal.complain("no services were found") }
        return .negative
    }

    private func show(_ answer: JSONValue, _ common: CommonOptions, isLine: Bool) throws(CommandFailure) {
        let screen = Screen(common)
        guard !common.isJSON else {
            if isLine { return Terminal.print(try Screen.line(answer)) }
            return try screen.print(answer)
        }
        let text = ServiceText(renderer: TextRenderer(screen, now: KernelClock().wall))
        let services = answer.list("services")
        let list = showsPast ? text.past(services) : text.list(services, hasText: common.verbosity > 0)
        if !list.isEmpty { Terminal.print(list) }
    }

    private func listTypes(
        _ answer: JSONValue,
        _ common: CommonOptions,
        isLine: Bool = false
    ) throws(CommandFailure) -> ExitStatus {
        let screen = Screen(common)
        let types = answer.texts("types")
        if common.isJSON {
            isLine ? Terminal.print(try Screen.line(answer)) : try screen.print(answer)
        } else if !types.isEmpty {
            Terminal.print(ServiceText(renderer: TextRenderer(screen, now: KernelClock().wall)).types(answer))
        }
        if types.isEmpty && !common.isJSON && !common.isQuiet { Terminal.complain("no services were found") }
        return types.isEmpty ? .negative : .success
    }
}
