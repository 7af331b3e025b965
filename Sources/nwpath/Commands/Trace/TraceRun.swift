// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Glibc
internal import LinuxIO
internal import Netlink
internal import PathModel
internal import Probes

/// One traceroute by the command itself, on a loop of its own.
///
/// Confined to the thread that made it.
final class TraceRun {
    typealias Outcome = (address: ScopedAddress, result: TracerouteResult)

    /// The timeout of a lookup.
    private static let longestLookup = Duration.seconds(5)

    private let loop: EventLoop
    private let family: AddressFamily?
    private let route: ProbeRoute
    private let plan: TraceroutePlan
    private let end: Duration?
    private var lookup: HostLookup?
    private var runner: ProbeRunner<TracerouteResult>?
    private var outcome = Result<Outcome, CommandFailure>.failure(CommandFailure("interrupted", .interrupted))

    /// Prepares a traceroute that ends within the limit, if there is one.
    init(
        _ family: AddressFamily?,
        _ route: ProbeRoute,
        _ plan: TraceroutePlan,
        limit: Duration?
    ) throws(CommandFailure) {
        self.family = family
        self.route = route
        self.plan = plan
        do {
            let loop = try EventLoop()
            self.loop = loop
            end = limit.map { loop.clock.boot + $0 }
            try loop.handleSignals([SIGINT, SIGTERM]) { _ in loop.stop() }
        } catch {
            throw CommandFailure("cannot make an event loop: \(error)", .negative)
        }
    }

    /// Looks up a name, sends, and waits for the end.
    func run(to host: ProbeHost) throws(CommandFailure) -> Outcome {
        switch host {
        case .address(let address): trace(address)
        case .name(let name):
            let limit = min(rest ?? Self.longestLookup, Self.longestLookup)
            lookup = HostLookup(name, limit: limit, loop: loop) { [unowned self] result in
                do throws(CommandFailure) {
                    trace(try address(of: name, result.outcome))
                } catch {
                    finish(.failure(error))
                }
            }
        }
        loop.run()
        lookup?.cancel()
        runner?.cancel()
        return try outcome.get()
    }

    /// What is left of the limit.
    private var rest: Duration? { end.map { max(.milliseconds(1), $0 - loop.clock.boot) } }

    private func trace(_ address: ScopedAddress) {
        var plan = plan
        plan.limit = rest
        runner = ProbeRunner(Traceroute(to: address, route: route, plan), loop: loop) { [unowned self] (result, _) in
            finish(.success((address, result)))
        }
    }

    private func finish(_ outcome: Result<Outcome, CommandFailure>) {
        self.outcome = outcome
        loop.stop()
    }

    /// The first address of a name, of the family if one is given.
    private func address(
        of name: String,
        _ found: HostLookupResult.Outcome
    ) throws(CommandFailure) -> ScopedAddress {
        switch found {
        case .addresses(let addresses):
            guard let fitting = addresses.first(where: { family == nil || $0.address.family == family }) else {
                throw CommandFailure("\(name) has no \(family?.label ?? "IP") address", .negative)
            }
            return fitting
        case .noSuchName: throw CommandFailure("there is no host named \(name)", .negative)
        case .noAddress: throw CommandFailure("the name \(name) has no address", .negative)
        case .failed(let text): throw CommandFailure("the name \(name) could not be looked up: \(text)", .timedOut)
        case .impossible(let text): throw CommandFailure(text, .negative)
        }
    }

    /// The own address from which packets come; `nil` where none go.
    static func source(of address: ScopedAddress, _ interface: String?) -> IPAddress? {
        let index = (interface ?? address.scope).flatMap { InterfaceLookup.index(named: $0) }
        return try? ConnectedSource.find(for: address.address, port: 9, by: index.map { Int($0) })
    }
}
