// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire
internal import Documents
internal import LinuxIO
internal import MulticastDNS
internal import OrderedJSON

/// `nwpath resolve`: a host, a service or an address of the local links.
struct Resolve: Command {
    var name = ""
    var interface: String?
    var follows = false
    var timeout: Duration?

    /// How long it is asked, without `--timeout`.
    private static let limit = Duration.seconds(5)
    /// How long other interfaces have after the first whole answer.
    private static let grace = Duration.milliseconds(300)
    /// How long the other family has after the first half of an answer.
    private static let answerTimeout = Duration.milliseconds(1200)

    static let specification = Specification<Resolve>(
        "resolve",
        "Resolves a host, a service or an address by multicast DNS.",
        discussion: """
            It queries the network itself and needs no service. A host without a dot is looked up below .local; \
            names outside .local are for the resolver (`getent hosts`). A service is TYPE/NAME, or its full name \
            such as 'Office Printer._ipp._tcp.local'.

            --json prints one object per line (JSON lines).
            """,
        examples: [
            CommandExample("nwpath resolve printer.local", "the addresses of a host"),
            CommandExample("nwpath resolve '_ipp._tcp/Office Printer'", "the host, port and TXT record of a service"),
            CommandExample("nwpath resolve 169.254.7.1", "the host name of an address"),
            CommandExample("nwpath resolve printer --watch", "until Ctrl-C"),
        ],
        arguments: [
            .positional("NAME", into: \.name, .text, help: "A host, a service or an address."),
            .interface(into: \.interface, help: "Query on this interface only."),
            .flag("--watch", into: \.follows, help: "Keep watching for changes."),
            .option("--timeout", value: "DUR", into: \.timeout, .duration, help: "Timeout (5s)."),
        ],
        common: [.output, .messages],
        exits: [
            ExitNote(.success, "resolved"), ExitNote(.negative, "not found"), ExitNote(.usage),
            ExitNote(.timedOut, "no answer"), ExitNote(.interrupted),
        ],
        check: { ResolveTarget.complaint($0.name) }
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            guard let target = ResolveTarget(name) else { return .usage }
            let given = timeout.flatMap { $0 == .zero ? nil : $0 }
            let waits = follows && given == nil
            let direct = try DirectEngine(interface: interface, waits: waits, isQuiet: common.isQuiet)
            if follows { Terminal.endWithReader() }
            let run = ResolveRun(direct, target, isOnce: !follows) { print($0, common, direct.clock) }
            run.begin(interface: direct.interface, grace: Self.grace, answerTimeout: Self.answerTimeout)
            direct.run(limit: given ?? (follows || timeout != nil ? nil : Self.limit))
            run.finish()
            if run.hasAnswer { return .success }
            if run.isDenied {
                if !common.isQuiet { Terminal.complain("\(target.text) \(target.denial)") }
                return .negative
            }
            if !common.isQuiet { Terminal.complain("no host answers for \(target.text)") }
            return .timedOut
        }
    }

    private func print(_ object: JSONValue, _ common: CommonOptions, _ clock: KernelClock) {
        if common.isJSON { return Terminal.print((try? Screen.line(object)) ?? []) }
        let renderer = TextRenderer(Screen(common), now: clock.wall)
        if object["service"] != nil {
            Terminal.print(BrowseLine.text(object, renderer: renderer))
            guard object.text("event") != "lost" else { return }
            for pair in ServiceText.pairs(of: object["service"] ?? .null) {
                Terminal.print("  " + renderer.style(pair, .faint))
            }
            return
        }
        let words = object.texts("addresses") + object.texts("names")
        for word in words.isEmpty ? ["-"] : words {
            let cells = [object.text("host"), word, object.interfaceName]
            Terminal.print(cells.map { renderer.style($0) }.joined(separator: "  "))
        }
    }
}

/// One resolution: holds the handle, gathers answers, and ends the run when there is enough.
final class ResolveRun {
    private let direct: DirectEngine
    private let target: ResolveTarget
    private let isOnce: Bool
    private let show: (JSONValue) -> Void
    private var handle: AnyObject?
    /// What to print at the end, by interface.
    private var answers: [Int: JSONValue] = [:]
    private(set) var hasAnswer = false
    /// Whether the host itself says that it has no address.
    private(set) var isDenied = false

    init(_ direct: DirectEngine, _ target: ResolveTarget, isOnce: Bool, show: @escaping (JSONValue) -> Void) {
        self.direct = direct
        self.target = target
        self.isOnce = isOnce
        self.show = show
    }

    func begin(interface: String?, grace: Duration, answerTimeout: Duration) {
        let clock = direct.clock
        switch target {
        case .instance(let instance):
            handle = InstanceResolve(direct.engine, instance: instance, interface: interface) { [unowned self] event in
                let object = BrowseLine.object(event, clock: clock)
                switch event {
                case .resolved(let service), .changed(let service, _, _):
                    // Asked once, one answer: what it has become until then.
                    let answer = isOnce ? BrowseLine.object(.resolved(service), clock: clock) : object
                    add(answer, of: service.interfaceIndex, wait: grace)
                case .lost(let service, _, _, _):
                    if isOnce { answers[service.interfaceIndex] = nil } else { show(object) }
                case .unresolved(let service) where !service.isOffered:
                    isDenied = true
                    add(object, of: service.interfaceIndex, wait: grace, isAnswer: false)
                case .found, .unresolved: break
                }
            }
        case .host(let host):
            handle = HostLookup(direct.engine, host: host, interface: interface) { [unowned self] answer in
                isDenied = answer.isComplete && answer.addresses.isEmpty
                if answer.addresses.isEmpty && !hasAnswer {
                    if isOnce && isDenied { direct.stop(at: clock.boot + grace) }
                    return
                }
                add(
                    Self.object(answer, clock),
                    of: answer.interfaceIndex,
                    wait: answer.isComplete ? grace : answerTimeout
                )
            }
        case .address(let address):
            handle = ReverseLookup(direct.engine, address: address, interface: interface) { [unowned self] event in
                add(event, address, wait: grace)
            }
        }
    }

    func finish() {
        handle = nil
        for (_, object) in answers.sorted(by: { $0.key < $1.key }) { show(object) }
        answers = [:]
    }

    private func add(_ object: JSONValue, of interface: Int, wait: Duration, isAnswer: Bool = true) {
        if isAnswer { hasAnswer = true }
        guard isOnce else { return show(object) }
        answers[interface] = object
        direct.stop(at: direct.clock.boot + wait)
    }

    private func add(_ event: RecordEvent, _ address: IPAddress, wait: Duration) {
        guard case .added(let answer) = event, case .pointer(let name) = answer.record.data else { return }
        var object = answers[answer.interfaceIndex]?.object ?? Self.head("\(address)", answer.interface, direct.clock)
        let names = (object["names"]?.array ?? []) + [.string("\(name)")]
        object["names"] = .array(names)
        add(.object(object), of: answer.interfaceIndex, wait: wait)
    }

    private static func object(_ answer: HostAnswer, _ clock: KernelClock) -> JSONValue {
        var object = head("\(answer.host)", answer.interface, clock)
        object["addresses"] = .array(answer.addresses.map { .string("\($0)") })
        return .object(object)
    }

    private static func head(_ host: String, _ interface: String, _ clock: KernelClock) -> JSONObject {
        var object = JSONObject()
        object["schema"] = .string(DocumentSchema.name(of: "resolve"))
        object["time"] = .string("\(clock.wall)")
        object["event"] = .string("resolved")
        object["host"] = .string(host)
        object["interface"] = .interface(interface)
        return object
    }
}

// MARK: - Forms

extension ResolveRun {
    static var form: Form {
        .document("Resolve", "What a host or an address resolves to on one interface.")
            .member("time", .time)
            .member("event", .constant("resolved"))
            .member("host", .text, "What was requested.")
            .member("interface", InterfaceReference.form)
            .optional("addresses", .list(of: .text), "Of a host.")
            .optional("names", .list(of: .text), "Of an address.")
    }
}
