// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Documents
internal import Glibc
internal import LinuxIO
internal import Netlink
internal import OrderedJSON
internal import PathEngine
internal import PathModel
internal import Probes

/// Runs a probe in the command itself; no service is needed.
///
/// Confined to the thread that made it.
final class DirectProbe {
    private let definition: ProbeDefinition
    private let loop: EventLoop
    private let pages: PageClient
    private let context: ProbeContext
    private var attempt: ProbeAttempt?
    private var tally = ProbeTally()
    private var isInterrupted = false

    init(_ definition: ProbeDefinition) throws(CommandFailure) {
        self.definition = definition
        do {
            loop = try EventLoop()
        } catch {
            throw CommandFailure("cannot make an event loop: \(error)", .negative)
        }
        pages = PageClient(loop: loop)
        context = Self.context(of: definition)
    }

    /// Makes the attempts one after another, each a pause after the start of the one before; `count` 0 is without end.
    func run(count: Int, pause: Duration, _ report: ProbeReport) throws(CommandFailure) -> ExitStatus {
        do {
            try loop.handleSignals([SIGINT, SIGTERM]) { [unowned self] signal in
                isInterrupted = signal == SIGINT
                loop.stop()
            }
        } catch {
            throw CommandFailure("cannot wait for signals: \(error)", .negative)
        }
        report.begin(definition)
        go(count: count, pause: pause, report)
        loop.run()
        attempt?.cancel()
        report.end(definition.name, tally)
        return isInterrupted ? .interrupted : tally.status
    }

    private func go(count: Int, pause: Duration, _ report: ProbeReport) {
        let next = loop.clock.boot + pause
        attempt = ProbeAttempt(definition, context: context, loop: loop, pages: pages) {
            [unowned self] result in
            attempt = nil
            tally.record(result)
            report.show(ProbeResultDocument(result, time: loop.clock.wall), number: tally.sent)
            // What this process may not do it may not do the next time either.
            if case .notAssessed = result.outcome { return loop.stop() }
            guard count == 0 || tally.sent < count else { return loop.stop() }
            loop.schedule(at: next) { [unowned self] in go(count: count, pause: pause, report) }
        }
    }

    private static func context(of definition: ProbeDefinition) -> ProbeContext {
        var context = ProbeContext()
        if definition.target == .gateway {
            let kernel = try? LiveKernel()
            let links = (try? kernel?.links())?.values ?? []
            context.gateways = kernel.map { gateways($0, links) } ?? []
            for link in links {
                for name in link.alternativeNames { context.interfaceNames[name] = link.name }
            }
        }
        let dns = ExplanationReader.nameServers(at: "/etc/resolv.conf")
        if definition.method == .dns { context.servers = dns.servers }
        if definition.isNamed { context.blockade = blockade(dns) }
        return context
    }

    private static func blockade(_ dns: DNSConfiguration) -> String? {
        guard let kernel = try? LiveKernel() else { return nil }
        let facts = try? ExplanationReader.facts(
            of: kernel,
            policy: PathPolicy(),
            dns: dns,
            uid: geteuid(),
            at: KernelClock().boot
        )
        return facts.flatMap { Why.blockade(Explainer($0, table: KernelTable(kernel))) }
    }

    /// The routers of the default routes, the preferred ones first.
    private static func gateways(_ kernel: LiveKernel, _ links: [Link]) -> [Gateway] {
        AddressFamily.allCases.flatMap { family -> [Gateway] in
            let routes =
                (try? kernel.routes(family, type: .unicast, limit: 10_000) { $0.destination.length == 0 })?
                .values ?? []
            return routes.sorted { $0.answer.metric < $1.answer.metric }.flatMap { route in
                route.answer.nexthops.compactMap { nexthop -> Gateway? in
                    guard let address = nexthop.gateway,
                        let name = links.first(where: { $0.index == nexthop.index })?.name
                    else {
                        return nil
                    }
                    let scoped = ScopedAddress(address, scope: name)
                    return Gateway(
                        address: scoped,
                        interface: name,
                        family: family,
                        metric: route.answer.metric
                    )
                }
            }
        }
    }
}

struct ProbeTally: Equatable {
    private(set) var sent = 0
    /// How many got a right answer.
    private(set) var answered = 0
    /// Whether an attempt could not be made for lack of permission.
    private(set) var isRefused = false
    /// How long the right answers took.
    private(set) var durations: [Duration] = []

    mutating func record(_ result: ProbeResult) {
        if case .notAssessed = result.outcome {
            isRefused = true
            return
        }
        record(isSuccess: result.isSuccess, duration: result.duration)
    }

    mutating func record(isSuccess: Bool, duration: Duration) {
        sent += 1
        guard isSuccess else { return }
        answered += 1
        durations.append(duration)
    }

    /// Notes that an attempt could not be made.
    mutating func refuse() { isRefused = true }

    /// The share that got no right answer, in percent.
    var lossPercent: Double { sent == 0 ? 0 : Double(sent - answered) * 100 / Double(sent) }

    var status: ExitStatus {
        if answered > 0 { return .success }
        return isRefused ? .refused : .negative
    }
}
