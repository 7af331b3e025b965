// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
internal import Glibc
internal import Diagnosis
internal import LinuxIO
internal import Netlink
internal import OrderedJSON
internal import PathEngine
internal import PathModel
internal import Spelling

/// The status as the kernel has it at this moment, read once by the command itself; no service is needed.
///
/// Nobody watched before, so nothing has a `since`.
struct DirectStatus {
    private let core: EngineCore
    private let host = HostName.current
    private let clock = KernelClock()

    /// Reads everything.
    /// - Throws: A failure when the configuration is not right, or the kernel cannot be asked.
    init() throws(CommandFailure) {
        guard let settings = CommandConfiguration.load(nil) else {
            throw CommandFailure("the configuration is not valid, so nothing was read", .usage)
        }
        do throws(NetlinkError) {
            core = try Self.readKernel(settings)
        } catch {
            throw CommandFailure("cannot query the kernel: \(error)", .negative)
        }
    }

    private static func readKernel(_ settings: CommandConfiguration) throws(NetlinkError) -> EngineCore {
        let loop: EventLoop
        do {
            loop = try EventLoop()
        } catch {
            throw .noSocket(step: "epoll_create1", code: error.rawValue)
        }
        let engine = try PathEngine(loop: loop, settings: settings.engine)
        let dns = ExplanationReader.nameServers(at: settings.resolverFile)
        engine.apply(ExplanationReader.providerFacts(dns: dns), from: "providers")
        try engine.start()
        defer { engine.stop() }
        return engine.core
    }

    /// The object of `/api/v1/status`.
    var overview: JSONValue {
        get throws(CommandFailure) {
            let document = OverviewDocument(
                state: StateDocument("status", time: clock.wall, host: host),
                daemon: nil,
                headline: HeadlineEvaluator(HeadlineFacts(host: host, path: core.path, now: clock.boot)).headline,
                headlineSince: nil,
                monitors: core.monitors.map {
                    MonitorDocument(monitor: $0.policy.name, path: $0.path, statusSince: nil, clock: clock)
                },
                interfaces: views.filter { !$0.ignored },
                path: core.path,
                services: nil,
                problems: []
            )
            return try Self.value { try OrderedJSONEncoder().encode(document) }
        }
    }

    /// The object of `/api/v1/interfaces`.
    var interfaces: JSONValue {
        get throws(CommandFailure) { try stated("interfaces") { $0.write("interfaces", views) } }
    }

    /// The object of `/api/v1/interfaces/{name}`.
    func interface(_ name: String) throws(CommandFailure) -> JSONValue {
        let known = core.state.link(named: name)?.name ?? name
        guard let view = views.first(where: { $0.name == known }) else {
            throw CommandFailure("There is no interface \(PrintableText.quote(name)).", .negative)
        }
        return try stated("interfacestate") { view.write(to: &$0) }
    }

    /// The object of `/api/v1/gateways`.
    var gateways: JSONValue {
        get throws(CommandFailure) {
            try stated("gateways") { $0.write("gateways", core.path.gateways.map(GatewayDocument.init)) }
        }
    }

    /// The object of `/api/v1/dns`.
    var dns: JSONValue {
        get throws(CommandFailure) { try stated("nameserverstate") { DNSDocument(core.path.dns).write(to: &$0) } }
    }

    private var views: [InterfaceDocument] { core.interfaces.map { InterfaceDocument($0, at: clock.boot) } }

    private func stated(
        _ kind: String,
        _ members: (inout JSONObjectWriter) -> Void
    ) throws(CommandFailure) -> JSONValue {
        try Self.value {
            try OrderedJSONEncoder().encode { object in
                StateDocument(kind, time: clock.wall, host: host).write(to: &object)
                members(&object)
            }
        }
    }

    private static func value(_ encode: () throws -> [UInt8]) throws(CommandFailure) -> JSONValue {
        do {
            return try JSONValue(parsing: try encode())
        } catch {
            throw CommandFailure("\(error)", .negative)
        }
    }
}
