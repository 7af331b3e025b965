// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
internal import LinuxIO
internal import OrderedJSON
internal import Spelling

/// `nwpath wait`: blocks until conditions hold.
struct Wait: Command {
    var conditions: [WaitCondition] = []
    var isAny = false
    var hold = Duration.zero
    var timeout = Duration.zero

    /// The longest long poll; shorter than the limit of the service.
    private static let longestPoll = Duration.seconds(30)

    static let specification = Specification<Wait>(
        "wait",
        "Waits for the Internet connection or other conditions.",
        discussion: """
            COND is connected (the default: no problem is known; the headline is online or connected), online \
            (something beyond the gateway has answered), path or satisfied (the kernel would send, whatever was \
            tested), unsatisfied, ipv4, ipv6, dns (a name server answers; where none is tested, one is reachable), \
            not-expensive, traffic (this machine's own connections are answered), interface=NAME (it can carry \
            traffic and is not ignored) or service=TYPE[/NAME] (the census found it). All \
            conditions must hold at the same time, unless --any is given.

            It may be started before the service is up. On timeout the unmet conditions are printed.
            """,
        examples: [
            CommandExample("nwpath wait", "until no problem is known"),
            CommandExample("nwpath wait ipv6 dns --timeout 30s", "for both, at most 30 s"),
            CommandExample("nwpath wait interface=eth0 --for 10s", "until it has held for ten seconds"),
            CommandExample("nwpath wait service=_ipp._tcp", "until a printer is found"),
        ],
        arguments: [
            .positionals("COND", into: \.conditions, .condition, help: "Conditions to wait for."),
            .flag("--any", into: \.isAny, help: "One condition is enough."),
            .option("--for", value: "DUR", into: \.hold, .duration, help: "How long the conditions must hold."),
            .option("--timeout", value: "DUR", into: \.timeout, .duration, help: "Timeout; 0 = none."),
        ],
        exits: [
            ExitNote(.success, "condition met"), ExitNote(.usage),
            ExitNote(.timedOut, "timed out; the unmet conditions are printed"),
            ExitNote(.refused),
        ],
        check: { $0.isAny && $0.conditions.isEmpty ? "--any needs conditions" : nil }
    )

    func run(_ common: CommonOptions) -> ExitStatus {
        attempt { () throws(CommandFailure) in
            var connection = try ServiceConnection(common)
            let clock = KernelClock()
            let started = clock.boot
            let wanted = conditions.isEmpty ? [.connected] : conditions
            var machine = WaitMachine(wanted, isAny: isAny, hold: hold, timeout: timeout, at: started)
            let isSatisfied = try wait(&machine, &connection, clock)
            if common.isJSON {
                let outcome = (machine.findings, isSatisfied, clock.boot - started)
                try Screen(common).print(Self.members.value(of: outcome))
            } else if !isSatisfied && !common.isQuiet {
                if let loss = machine.loss { Terminal.complain(loss) }
                for line in Self.missing(machine.findings) { Terminal.complain(line) }
            }
            return isSatisfied ? .success : .timedOut
        }
    }

    /// Evaluates the conditions each time something changes.
    private func wait(
        _ machine: inout WaitMachine,
        _ connection: inout ServiceConnection,
        _ clock: KernelClock
    ) throws(CommandFailure) -> Bool {
        var backoff = Backoff()
        var tag: String?
        while true {
            var limit: Duration?
            switch machine.step(at: clock.boot) {
            case .satisfied: return true
            case .timedOut: return false
            case .wait(let longest): limit = longest
            }
            do throws(CommandFailure) {
                tag = try poll(&machine, &connection, tag, min(limit ?? Self.longestPoll, Self.longestPoll), clock)
                backoff.reset()
            } catch {
                guard [.unreachable, .timedOut, .negative].contains(error.status) else { throw error }
                machine.lose(error.message)
                tag = nil
                let pause = backoff.next()
                Pause.sleep(min(pause, machine.remaining(at: clock.boot) ?? pause))
            }
        }
    }

    /// Fetches the status; with the tag of the last response the service responds when something changes, or after `longest`.
    private func poll(
        _ machine: inout WaitMachine,
        _ connection: inout ServiceConnection,
        _ tag: String?,
        _ longest: Duration,
        _ clock: KernelClock
    ) throws(CommandFailure) -> String? {
        let isOfTraffic = conditions.contains(.traffic)
        // Whatever changes the status changes the tag of the traffic, too.
        let route = isOfTraffic ? "/api/v1/traffic" : "/api/v1/status"
        let milliseconds = max(1, longest.nanoseconds / 1_000_000)
        let limit = min(ServiceConnection.standardTimeout, machine.remaining(at: clock.boot) ?? .seconds(5))
        let answer = try connection.get(
            tag == nil ? route : "\(route)?wait=\(milliseconds)ms",
            fields: tag.map { [("If-None-Match", $0)] } ?? [],
            accepting: isOfTraffic ? [304, 404] : [304],
            timeout: max(.milliseconds(1), tag == nil ? limit : longest + .seconds(1))
        )
        // Nothing has changed: what was found last still holds.
        guard !answer.value.isNull else { return answer.tag ?? tag }
        let status = isOfTraffic ? try connection.get("/api/v1/status", timeout: limit).value : answer.value
        var services: [JSONValue] = []
        if (conditions.contains { $0.needsServices }) {
            services = try connection.get("/api/v1/services", timeout: limit).value.list("services")
        }
        let ignored = try ignored(in: status, &connection, limit)
        let traffic = isOfTraffic ? answer.value : .null
        machine.evaluate(status, services: services, traffic: traffic, ignored: ignored, at: clock.boot)
        // A service without this document has no tag to wait with.
        if isOfTraffic, answer.tag == nil { Pause.sleep(min(.seconds(1), longest)) }
        return answer.tag
    }

    /// Which of the wanted interfaces exist although the status leaves them out.
    private func ignored(
        in status: JSONValue,
        _ connection: inout ServiceConnection,
        _ limit: Duration
    ) throws(CommandFailure) -> Set<String> {
        let reported = Set(status.list("interfaces").flatMap(InterfaceText.names))
        let wanted = conditions.compactMap(\.interface).filter { !reported.contains($0) }
        guard !wanted.isEmpty else { return [] }
        let all = try connection.get("/api/v1/interfaces", timeout: limit).value.list("interfaces")
        return Set(all.filter { $0.isTrue("ignored") }.flatMap(InterfaceText.names)).intersection(wanted)
    }

    static func missing(_ findings: [WaitMachine.Finding]) -> [String] {
        var lines: [String] = []
        for finding in findings {
            guard let missing = finding.missing else { continue }
            lines.append("still waiting for: \(PrintableText.escape("\(finding.condition) (\(missing))"))")
        }
        return lines.isEmpty ? ["the condition did not hold long enough"] : lines
    }

    static let members = Members<(findings: [WaitMachine.Finding], isSatisfied: Bool, waited: Duration)>
        .document("Wait", "What a wait came to.")
        .member("satisfied", "Whether all conditions held for long enough.") { $0.isSatisfied }
        .member("waited_seconds", as: .seconds) { ($0.waited.seconds * 1000).rounded() / 1000 }
        .member(
            "conditions",
            each: .object()
                .member("condition") { $0.condition.description }
                .member("holds") { $0.missing == nil }
                .member("missing", "What is in the way; `null` when it holds.") { $0.missing }
        ) { $0.findings }
}

extension ArgumentForm where Value == WaitCondition {
    static let condition = ArgumentForm(
        WaitCondition.expectation,
        choices: WaitCondition.words.map(\.word) + ["interface=", "service="],
        parse: { WaitCondition($0) }
    )
}
