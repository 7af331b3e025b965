// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import Netlink
@testable import PathEngine
import PathModel
import TestSupport
import Testing

/// An engine in the namespace of the test, with everything it reported.
final class Subject {
    let engine: PathEngine
    let loop: EventLoop
    private(set) var updates: [EngineUpdate] = []
    private(set) var resyncs: [StateDifference] = []
    private(set) var resumes: [Duration] = []
    /// Called when the engine tells of links.
    var onLinks: () -> Void = {}

    /// Starts an engine that evaluates at once unless told otherwise; `groups` and `bufferSize` cripple its ears.
    init(
        _ settings: EngineSettings = .prompt,
        facts: ProviderFacts = ProviderFacts(),
        clock: any TimeSource = KernelClock(),
        without groups: Set<EventGroup> = [],
        bufferSize: Int = 8 << 20,
        refusal: NetlinkError? = nil,
        reading: @escaping PathEngine.Reader = { () throws(NetlinkError) in try KernelReading(of: try LiveKernel()) }
    ) throws {
        let loop = Namespace.current.loop
        self.loop = loop
        engine = try PathEngine(loop: loop, settings: settings, clock: clock, recorder: nil, reading: reading) {
            wanted throws(NetlinkError) in
            if let refusal { throw refusal }
            let heard = wanted.subtracting(groups)
            return try KernelMonitor(loop: loop, clock: clock, groups: heard, bufferSize: bufferSize)
        }
        engine.apply(facts, from: "test")
        try engine.start { [unowned self] event in
            switch event {
            case .update(let update): updates.append(update)
            case .resync(_, let found): resyncs.append(found)
            case .resume(let slept): resumes.append(slept)
            case .links: onLinks()
            case .firstReading, .notices, .audit: break
            }
        }
    }

    deinit { engine.stop() }

    /// The path of the default monitor as it was published.
    var path: Path { engine.core.monitors[0].path }

    /// The path of another monitor.
    func path(of monitor: String) -> Path? { engine.core.monitor(named: monitor)?.path }

    /// The path changes of the default monitor that were told, the first look left out.
    var changes: [PathChange] {
        updates.filter { !$0.isFirst }.flatMap(\.paths).filter { $0.monitor == "default" }.map(\.change)
    }

    /// A link as the engine sees it.
    func link(_ name: String) -> Link? { engine.core.state.link(named: name) }

    /// Waits until the published path is as wanted.
    @discardableResult
    func eventually(
        _ what: String,
        within limit: Duration = .seconds(60),
        sourceLocation: SourceLocation = #_sourceLocation,
        _ condition: (Path) -> Bool
    ) async -> Bool {
        let holds = await loop.eventually(within: limit, what, sourceLocation: sourceLocation) { condition(path) }
        if !holds { Issue.record("the path is \(path)", sourceLocation: sourceLocation) }
        return holds
    }

    /// Waits until the path is satisfied.
    func satisfied(sourceLocation: SourceLocation = #_sourceLocation) async {
        await eventually("satisfied", sourceLocation: sourceLocation) { $0.status == .satisfied }
    }

    /// Waits until the path is unsatisfied for that reason.
    func unsatisfied(_ reason: UnsatisfiedReason, sourceLocation: SourceLocation = #_sourceLocation) async {
        await eventually("\(reason)", sourceLocation: sourceLocation) {
            $0.status == .unsatisfied && $0.reason == reason
        }
    }

    /// Waits until everything the kernel said so far was heard and evaluated.
    ///
    /// A rule that decides nothing is added: what it triggers comes after everything else.
    func caughtUp(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let heard = engine.statistics.messages[.ipv4Rule, default: 0]
        try Namespace.current.ipBatch(["rule add pref 30000 lookup 9999", "rule del pref 30000"])
        await loop.eventually(within: .seconds(20), "the mark", sourceLocation: sourceLocation) {
            engine.statistics.messages[.ipv4Rule, default: 0] >= heard + 2 && !engine.core.isPending
        }
    }
}

/// Whether the next change is published within a time after the kernel's last word about it.
///
/// It is told by order, not by a clock: a timer of the same loop must not fire before the publication, so that a machine
/// that holds the loop up holds both up.
final class Promptness {
    private(set) var isLate = false
    private let subject: Subject
    private let limit: Duration
    private let changes: Int
    private let monitor: KernelMonitor
    private var timer: EventLoop.Timer?

    init(of subject: Subject, within limit: Duration) throws {
        self.subject = subject
        self.limit = limit
        changes = subject.changes.count
        monitor = try KernelMonitor(loop: subject.loop)
        monitor.onEvents = { [unowned self] _ in rearm() }
        try monitor.start()
    }

    deinit {
        monitor.stop()
        if let timer { subject.loop.cancel(timer) }
    }

    private func rearm() {
        if let timer { subject.loop.cancel(timer) }
        timer = subject.loop.schedule(after: limit) { [unowned self] in
            isLate = isLate || subject.changes.count == changes
        }
    }
}

extension EngineSettings {
    /// Evaluates at once, and never without a sign.
    static let prompt = EngineSettings(quiet: .zero, auditInterval: .zero)

    /// As a configuration that says nothing, without audits.
    static let usual = EngineSettings(auditInterval: .zero)

    /// The same with another policy.
    func with(_ change: (inout PathPolicy) -> Void) -> EngineSettings {
        var settings = self
        change(&settings.policy)
        return settings
    }
}

extension Namespace {
    /// Joins `name` and `v<number>` of `peer`, both up.
    ///
    /// The kernel tells of a lost carrier at once when the two ends have different indexes; else it takes the device
    /// for a plain one and waits up to a second between two such events.
    func cable(_ name: String, _ number: Int, to peer: Namespace) throws {
        try peer.ip("link add pad\(number) type bridge")
        try connect(name, to: peer, as: "v\(number)")
    }

    /// Runs `ip` commands, each with options of its own.
    func apply(_ commands: [String]) throws {
        for command in commands { try ip(command) }
    }

    /// Makes an interface with addresses and defaults, joined to `v<number>` of `peer`, which has the gateway's.
    func uplink(_ name: String, _ number: Int, to peer: Namespace, metric: Int? = 100) throws {
        try cable(name, number, to: peer)
        try peer.ipBatch([
            "addr add 10.\(number).0.1/24 dev v\(number)", "addr add 2001:db8:\(number)::1/64 dev v\(number) nodad",
        ])
        try ipBatch([
            "addr add 10.\(number).0.2/24 dev \(name)", "addr add 2001:db8:\(number)::2/64 dev \(name) nodad",
        ])
        try waitForAddresses(on: name)
        try peer.waitForAddresses(on: "v\(number)")
        guard let metric else { return }
        try ipBatch([
            "route add default via 10.\(number).0.1 dev \(name) metric \(metric)",
            "route add ::/0 via 2001:db8:\(number)::1 dev \(name) metric \(metric)",
        ])
    }

    /// Sends a router advertisement (RFC 4861 section 4.2) out of a device, with the prefix 2001:db8:77::/64.
    func advertise(from device: String, lifetime: Int, prefixLifetime: Int = 3600) throws {
        try run(["python3", "-c", Self.advertisement, device, "\(lifetime)", "\(prefixLifetime)"])
    }

    /// The same, while the loop goes on.
    func advertising(from device: String, lifetime: Int) throws -> RunningCommand {
        let words = ["nsenter", "--net=\(path)", "python3", "-c", Self.advertisement, device, "\(lifetime)", "3600"]
        return try RunningCommand(words)
    }

    private static let advertisement = """
        import socket, struct, sys
        device, lifetime, prefix = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
        index = socket.if_nametoindex(device)
        raw = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
        raw.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
        raw.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
        option = struct.pack("!BBBBIII", 3, 4, 64, 0xC0, prefix, prefix, 0) + socket.inet_pton(10, "2001:db8:77::")
        raw.sendto(struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, lifetime, 0, 0) + option, ("ff02::1", 0, 0, index))
        """

    /// Makes a device of the peer able to advertise, and one of this namespace listen.
    func acceptAdvertisements(on device: String, from peerDevice: String, of peer: Namespace) async throws {
        for setting in ["accept_ra=2", "accept_dad=0", "router_solicitations=0"] {
            try run("sysctl -qw net.ipv6.conf.\(device).\(setting)")
        }
        try peer.run("sysctl -qw net.ipv6.conf.\(peerDevice).accept_dad=0")
        try await loop.eventually("a link-local address to send from") {
            let printed = try peer.ip("-6 addr show dev \(peerDevice) scope link")
            return printed.contains("fe80") && !printed.contains("tentative")
        }
    }
}

extension IPAddress {
    /// Reads an address a test wrote.
    static func of(_ text: String) -> IPAddress {
        guard let address = IPAddress(text) else { preconditionFailure("\(text) is no address") }
        return address
    }
}
