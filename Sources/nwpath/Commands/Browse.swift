// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import MulticastDNS
internal import OrderedJSON

/// `nwpath browse`: the services of some types, or of all, as they come and go.
struct Browse: Command {
    var words: [String] = []
    var interface: String?
    var isOnce = false
    var timeout: Duration?

    /// How long `--once` may take; it needs 3.5 s where nobody is slow.
    private static let limit = Duration.seconds(10)

    static let specification = Specification<Browse>(
        "browse",
        "Follows the services of some types, or of all, by multicast DNS.",
        discussion: """
            It queries the network itself and needs no service. A line reports that an instance was found (+), \
            resolved (=), changed (~), lost (-), or cannot be resolved (!). With --json there is one object per line \
            (JSON lines).

            Without TYPE it finds the types first and browses each of them. Without --once and --timeout it runs \
            until Ctrl-C, and waits where no interface is up yet.
            """,
        examples: [
            CommandExample("nwpath browse", "all services, until Ctrl-C"),
            CommandExample("nwpath browse _ipp._tcp", "printers, until Ctrl-C"),
            CommandExample("nwpath browse _ipp._tcp _http._tcp,_printer --once", "several types, one by a subtype"),
            CommandExample("nwpath browse _ssh._tcp --json --timeout 5s", "for five seconds, as JSON lines"),
        ],
        arguments: [
            .positionals("TYPE[,SUBTYPE]", into: \.words, .text, help: "The types to browse; all types if omitted."),
            .interface(into: \.interface, help: "Look on this interface only."),
            .flag("--once", into: \.isOnce, help: "Exit once all present services have been found."),
            .option("--timeout", value: "DUR", into: \.timeout, .duration, help: "Stop after this time; 0 = never."),
        ],
        common: [.output, .messages],
        exits: [
            ExitNote(.success, "something was found"), ExitNote(.negative, "nothing was found"), ExitNote(.usage),
            ExitNote(.interrupted),
        ],
        check: { $0.words.lazy.compactMap(BrowseTarget.complaint).first }
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            let given = timeout.flatMap { $0 == .zero ? nil : $0 }
            let direct = try DirectEngine(
                interface: interface,
                waits: given == nil && !isOnce,
                isQuiet: common.isQuiet
            )
            let clock = direct.clock
            let renderer = TextRenderer(Screen(common), now: clock.wall)
            var hasFound = false
            Terminal.endWithReader()
            let show: (BrowseEvent) -> Void = { event in
                hasFound = true
                let object = BrowseLine.object(event, clock: clock)
                if common.isJSON {
                    Terminal.print((try? Screen.line(object)) ?? [])
                } else {
                    Terminal.print(BrowseLine.text(object, renderer: renderer))
                }
            }
            let client: AnyObject = words.isEmpty ? everything(by: direct, show) : some(by: direct, show)
            withExtendedLifetime(client) {
                direct.run(limit: given ?? (isOnce && timeout == nil ? Self.limit : nil))
            }
            if !hasFound && !common.isQuiet { Terminal.complain("no services were found") }
            return hasFound ? .success : .negative
        }
    }

    private func some(by direct: DirectEngine, _ show: @escaping (BrowseEvent) -> Void) -> ServiceBrowse {
        let names = words.compactMap { BrowseTarget($0) }.flatMap(\.names)
        var progress = BrowseProgress(at: direct.clock.boot)
        let settle = isOnce ? Settle(direct) : nil
        settle?.move(to: progress.end)
        return ServiceBrowse(direct.engine, types: names, interface: direct.interface) { event in
            show(event)
            progress.record(event, at: direct.clock.boot)
            settle?.move(to: progress.end)
        }
    }

    /// A census asks for the types; the engine looks on no other interface.
    private func everything(by direct: DirectEngine, _ show: @escaping (BrowseEvent) -> Void) -> ServiceCensus {
        let census = ServiceCensus(direct.engine)
        census.start(onInstance: show) { [isOnce] event in
            if isOnce, case .censusCompleted = event { direct.stop() }
        }
        return census
    }
}

/// Ends a run at a moment that may move.
final class Settle {
    private let direct: DirectEngine
    private var timer: EventLoop.Timer?

    init(_ direct: DirectEngine) { self.direct = direct }

    /// Ends the run then; `nil` is not yet.
    func move(to end: Duration?) {
        if let timer { direct.cancel(timer) }
        timer = end.map { end in direct.schedule(at: end) { [direct] in direct.stop() } }
    }
}
