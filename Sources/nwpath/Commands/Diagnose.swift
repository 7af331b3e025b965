// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Configuration
internal import Diagnosis
internal import Documents
internal import Examination
internal import LinuxIO
internal import OrderedJSON
internal import PathEngine
internal import PathModel
internal import Probes
internal import Spelling

/// `nwpath diagnose`: what is wrong with the network, found out by asking it.
struct Diagnose: Command {
    var target: String?
    var targets: String?
    var config: String?
    var isOffline = false
    var isLoading = false
    var limit: Duration?
    var isVerbose = false
    var explained: ExplainedCode?

    static let specification = Specification<Diagnose>(
        "diagnose",
        "Finds the root cause of what is wrong with the network, layer by layer.",
        discussion: """
            Tests the kernel, the link, the gateways, the name servers and hosts in other networks in parallel, and \
            reports root causes only: what follows from them is hidden. The worst one comes first, with the next \
            step, then every layer from the cable up.

            The targets are those of the diagnosis section of the configuration, or of a file with the same keys; \
            without either, well-known public hosts. What this process has no permission to test is reported as not \
            assessed.

            With a host, HOST:PORT or a URL (http, https, ws, wss) it tests that destination step by step: name, \
            route, reply, TCP, TLS, HTTP, WebSocket. Packets go to that destination only; when it does not work, the \
            network is examined too, to distinguish a fault of the network from one of the destination.

            At the end the pages of diagnosis.nq, if configured, are loaded for up to five seconds to measure \
            throughput and latency under load. The service never does that.

            --explain says what a code means, how it is found out and what to do; it tests nothing.
            """,
        examples: [
            CommandExample("nwpath diagnose", "find the root cause"),
            CommandExample("nwpath diagnose --json", "the same for programs"),
            CommandExample("nwpath diagnose https://example.test/", "why does this page not work"),
            CommandExample("nwpath diagnose example.test:22", "why does this port not answer"),
            CommandExample("nwpath diagnose --targets targets.yaml", "test your own hosts"),
            CommandExample("nwpath diagnose --load --targets targets.yaml", "with a load test, which may move 40 MB"),
            CommandExample("nwpath diagnose --offline", "what the kernel knows, without sending anything"),
            CommandExample("nwpath diagnose --explain wan.down", "what that code means"),
            CommandExample("nwpath diagnose --explain list", "all codes, with a sentence each"),
        ],
        arguments: [
            .positional("HOST|URL", into: \.target, .text, help: "The destination; the whole network without it."),
            .option("--targets", value: "FILE", into: \.targets, .path, help: "A file with the targets."),
            .option("--config", value: "FILE", into: \.config, .path, help: "The configuration file."),
            .flag("--offline", into: \.isOffline, help: "Send nothing; examine this machine only."),
            .flag(
                "--load",
                into: \.isLoading,
                help: "Fail without a load test; it always runs when diagnosis.nq has pages."
            ),
            .option("--timeout", value: "DUR", into: \.limit, .duration, help: "Time limit (15s)."),
            .flag("-v", "--verbose", into: \.isVerbose, help: "Print every test and what became of it, too."),
            .option("--explain", value: "CODE", into: \.explained, .code, help: "Explain a code, or list all."),
        ],
        common: [.output, .messages],
        exits: [
            ExitNote(.success, "no problems found, or a code was explained"),
            ExitNote(.negative, "problems found: broken, degraded or a warning"), ExitNote(.usage),
            ExitNote(.unfinished, "the diagnosis could not be completed, and found no problem"), ExitNote(.interrupted),
        ],
        check: { $0.complaint }
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            if let explained { return try explained.show(Screen(common), isJSON: common.isJSON) }
            let settings = try DiagnosisSettings(targets: targets, config: config)
            let screen = Screen(common)
            let destination = try? self.destination
            let layers = destination == nil ? Layer.ofNetwork : Layer.ofDestination
            let showsProgress = !common.isJSON && !common.isQuiet && Terminal.showsProgress
            let ticker = LayerTicker(isShown: showsProgress, layers)
            var order = settings.order
            order.destination = destination
            order.isOffline = isOffline
            guard !isLoading || settings.targets.load.isPossible else {
                throw CommandFailure(
                    "--load has nothing to load: set \(settings.prefix)nq.download or \(settings.prefix)nq.upload",
                    .usage
                )
            }
            order.isLoading = destination == nil && !isOffline && settings.targets.load.isPossible
            order.limit = limit ?? .seconds(15)
            order.isLimitFixed = limit != nil
            var run = try DiagnosisRun(settings, order, needsLoad: isLoading) { ticker.tick($0) }
            let outcome = run.wait()
            ticker.clear()
            guard let outcome else {
                Terminal.complain("interrupted; nothing was changed")
                return .interrupted
            }
            try show(outcome, common, screen)
            return outcome.status
        }
    }

    /// What is wrong with the command line; `nil` when nothing is.
    private var complaint: String? {
        if let limit, limit < .milliseconds(100) { return "--timeout must be 100ms or longer" }
        if isLoading && isOffline { return "--load and --offline exclude each other" }
        if explained != nil && (target != nil || isLoading || isOffline) {
            return "--explain tests nothing: give it alone"
        }
        if isLoading && target != nil { return "--load takes no HOST|URL" }
        do throws(Destination.Mistake) {
            guard case .name(let name)? = try destination?.host, isOffline else { return nil }
            return "--offline does not resolve names; give an address instead of \(name)"
        } catch {
            let text = PrintableText.escape(target ?? "")
            guard case .unknownScheme(let scheme) = error else {
                return "HOST|URL is '\(text)', expected \(Destination.expectation)"
            }
            let nearest = NearestSpelling.nearest(to: scheme, among: Destination.schemes)
            let question = nearest.map { " (did you mean '\($0)'?)" } ?? ""
            return "HOST|URL is '\(text)', expected \(Destination.expectation)\(question)"
        }
    }

    private var destination: Destination? {
        get throws(Destination.Mistake) {
            guard let target else { return nil }
            return try Destination(target)
        }
    }

    private func show(
        _ outcome: DiagnosisRun.Outcome,
        _ common: CommonOptions,
        _ screen: Screen
    ) throws(CommandFailure) {
        let value: JSONValue
        do {
            let document = DiagnosisStateDocument(outcome.document, running: nil)
            value = try JSONValue(parsing: try OrderedJSONEncoder().encode(document))
        } catch {
            throw CommandFailure("\(error)", .unfinished)
        }
        if common.isJSON { return try screen.print(value) }
        let text = DiagnosisText(renderer: TextRenderer(screen, now: KernelClock().wall))
        Terminal.print(text.render(value, isVerbose: isVerbose))
    }
}

extension ExitStatus {
    /// 3: it could not be completed.
    static let unfinished = ExitStatus(rawValue: 3)
}

/// Where the targets come from.
struct DiagnosisSettings {
    let targets: Targets
    /// Where that is said: `file`, `configuration` or `public defaults`.
    let origin: String
    let common: CommandConfiguration
    /// What stands before the keys of targets: `diagnosis.` in the configuration, nothing in a file of targets.
    var prefix: String { origin == "file" ? "" : "diagnosis." }

    /// Reads the configuration, and the file of targets if there is one.
    init(targets file: String?, config: String?) throws(CommandFailure) {
        guard let common = CommandConfiguration.load(config) else {
            throw CommandFailure("the configuration is not valid, so nothing was tested", .usage)
        }
        self.common = common
        guard let file else {
            origin = common.diagnosis.origin
            targets = common.diagnosis.effectiveTargets
            return
        }
        do {
            targets = try TargetSettings.load(file).targets
        } catch {
            throw CommandFailure("\(error)", .usage)
        }
        origin = "file"
    }

    /// What an examination may do; of the network of this machine, as it is now.
    var order: ExaminationOrder {
        let servers = ExplanationReader.usedServers(at: common.resolverFile)
        var order = ExaminationOrder(targets: targets, servers: servers)
        order.searchDomains = ExplanationReader.nameServers(at: common.resolverFile).search
        order.policy = common.engine.policy
        let variables = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
        order.usesProxy = variables.contains { Environment.variables[$0]?.isEmpty == false }
        return order
    }
}
