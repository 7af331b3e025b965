// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
internal import Glibc
internal import Judgement
internal import LinuxIO
internal import Netlink
internal import OrderedJSON
internal import PathEngine
internal import PathModel

/// The status as the kernel has it at this moment, read once by the command itself; no service is needed.
///
/// Nobody watched before, so nothing has a `since`.
struct DirectStatus {
    private let document: OverviewDocument

    /// Reads everything.
    /// - Throws: A failure when the configuration is not right, or the kernel cannot be asked.
    init() throws(CommandFailure) {
        guard let settings = CommandConfiguration.load(nil) else {
            throw CommandFailure("the configuration is not right, so nothing was read", .usage)
        }
        let core: EngineCore
        do throws(NetlinkError) {
            core = try Self.look(settings)
        } catch {
            throw CommandFailure("the kernel cannot be asked: \(error)", .negative)
        }
        let clock = KernelClock()
        let host = HostName.current
        document = OverviewDocument(
            state: StateDocument("status", time: clock.wall, host: host),
            daemon: nil,
            headline: HeadlineJudge(HeadlineFacts(host: host, path: core.path, now: clock.boot)).headline,
            headlineSince: nil,
            monitors: core.monitors.map {
                MonitorDocument(monitor: $0.policy.name, path: $0.path, statusSince: nil, clock: clock)
            },
            interfaces: core.interfaces.map { InterfaceDocument($0, at: clock.boot) }.filter { !$0.ignored },
            path: core.path,
            services: nil,
            problems: []
        )
    }

    private static func look(_ settings: CommandConfiguration) throws(NetlinkError) -> EngineCore {
        let loop: EventLoop
        do {
            loop = try EventLoop()
        } catch {
            throw .noSocket(step: "epoll_create1", code: error.rawValue)
        }
        let engine = try PathEngine(loop: loop, settings: settings.engine)
        let dns = ExplanationReader.nameServers(at: settings.resolverFile)
        engine.take(ProviderFacts(dns: dns), from: "dns")
        try engine.start()
        defer { engine.stop() }
        return engine.core
    }

    /// The object, as the service would answer it.
    var value: JSONValue {
        get throws(CommandFailure) {
            do {
                return try JSONValue(parsing: try OrderedJSONEncoder().encode(document))
            } catch {
                throw CommandFailure("\(error)", .negative)
            }
        }
    }
}
