// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import TestSupport
import Testing

@testable import Probes

/// Two machines on one cable: the test's own, and one that answers.
struct ProbeNetwork {
    /// The test's machine.
    let near: Namespace
    /// The one that answers.
    let far: Namespace
    let loop: EventLoop
    let pages: PageClient

    static let peer4 = "192.0.2.2"
    static let peer6 = "2001:db8::2"

    /// The groups that may ping by the kernel's socket (icmp(7), `ping_group_range`).
    enum PingGroups: String, CaseIterable {
        /// All that the namespace of an ordinary user has.
        case everyone = "0 65535"
        case nobody = "1 0"
    }

    /// Joins the test's namespace, which must be its own, to another one: 192.0.2.1 and .2, 2001:db8::1 and ::2.
    init(pingGroups: PingGroups? = nil) throws {
        near = .current
        far = try Namespace()
        loop = near.loop
        pages = PageClient(loop: loop)
        try near.connect("eth0", to: far, as: "eth1")
        try near.ipBatch(["address add 192.0.2.1/24 dev eth0", "address add 2001:db8::1/64 dev eth0 nodad"])
        try far.ipBatch(["address add 192.0.2.2/24 dev eth1", "address add 2001:db8::2/64 dev eth1 nodad"])
        try near.waitForAddresses(on: "eth0")
        try far.waitForAddresses(on: "eth1")
        guard let pingGroups else { return }
        try near.run(["sysctl", "-qw", "net.ipv4.ping_group_range=\(pingGroups.rawValue)"])
    }

    /// Makes one attempt and waits for its result.
    func attempt(
        _ definition: ProbeDefinition,
        context: ProbeContext = ProbeContext()
    ) async -> ProbeResult {
        await withCheckedContinuation { continuation in
            let holder = AttemptHolder()
            holder.attempt = ProbeAttempt(definition, context: context, loop: loop, pages: pages) { result in
                holder.attempt = nil
                continuation.resume(returning: result)
            }
        }
    }

    /// Runs a probe and waits for its result.
    func run<Result>(_ probe: any Probe<Result>) async throws -> (result: Result, traffic: ProbeTraffic) {
        var found: (Result, ProbeTraffic)?
        let runner = ProbeRunner(probe, loop: loop) { found = ($0, $1) }
        await loop.eventually { found != nil }
        withExtendedLifetime(runner) {}
        return try #require(found)
    }

    /// Starts an attempt, whose result comes later.
    func begin(_ definition: ProbeDefinition) -> PendingAttempt {
        let pending = PendingAttempt()
        let context = ProbeContext()
        pending.attempt = ProbeAttempt(definition, context: context, loop: loop, pages: pages) { result in
            pending.result = result
            pending.attempt = nil
        }
        return pending
    }

    /// Makes several attempts at once and waits for all results.
    func attempts(_ definitions: [ProbeDefinition]) async -> [ProbeResult] {
        let pending = definitions.map(begin)
        await loop.eventually { pending.allSatisfy { $0.result != nil } }
        return pending.compactMap(\.result)
    }

    /// Makes an attempt by a text, as a command would.
    func attempt(
        _ method: ProbeMethod,
        _ target: String,
        timeout: Duration = .seconds(20),
        _ change: (inout ProbeDefinition) -> Void = { _ in }
    ) async throws -> ProbeResult {
        await attempt(try Self.definition(method, target, timeout: timeout, change))
    }

    static func definition(
        _ method: ProbeMethod,
        _ target: String,
        timeout: Duration = .seconds(20),
        _ change: (inout ProbeDefinition) -> Void = { _ in }
    ) throws -> ProbeDefinition {
        let target = try #require(ProbeTarget(target, method: method))
        var definition = ProbeDefinition(name: "test", method: method, target: target, timeout: timeout)
        change(&definition)
        return definition
    }

    /// Runs a program on the far machine as long as the value lives.
    func serve(_ words: [String]) throws -> RunningCommand {
        try RunningCommand(["nsenter", "--net=\(far.path)"] + words)
    }

    /// Runs a Python program on the far machine.
    func servePython(_ program: String) throws -> RunningCommand { try serve(["python3", "-c", program]) }

    /// Waits until the far machine listens on a TCP port.
    func waitForPort(_ port: UInt16) async throws {
        try await loop.eventually("port \(port)") {
            try far.run("ss -Hltn sport = :\(port)").contains(":\(port)")
        }
    }

    /// Puts packet filter rules on a machine; each line goes into the chain of a hook.
    static func filter(_ machine: Namespace, hook: String, _ rules: [String]) throws {
        let lines = rules.map { "    " + $0 }.joined(separator: "\n")
        let table = "table inet probe {\n  chain c {\n    type filter hook \(hook) priority 0;\n\(lines)\n  }\n}\n"
        try Command.run(["nsenter", "--net=\(machine.path)", "nft", "-f", "-"], input: table)
    }
}

/// An attempt that goes on beside the test.
final class PendingAttempt {
    fileprivate var attempt: ProbeAttempt?
    fileprivate(set) var result: ProbeResult?
}

/// Keeps an attempt alive until it is over.
private final class AttemptHolder {
    var attempt: ProbeAttempt?
}
