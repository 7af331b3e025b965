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
struct DirectStatus: JSONObjectWritable {
    private let schema = DocumentSchema.name(of: "status")
    private let time: String
    private let host: String
    private var daemon: String?
    private let headline: Judged
    private let chain: [ChainElementDocument]
    private let path: PathDocument
    private let message: String
    /// Deprecated: ``message``.
    private let sentence: String
    private let monitors: [Monitor]
    private let interfaces: [InterfaceDocument]
    private let gateways: [GatewayDocument]
    private let dns: DNSDocument
    private let problems: [ProblemDocument] = []

    func write(to object: inout JSONObjectWriter) {
        object.write("schema", schema)
        object.write("time", time)
        object.write("host", host)
        object.write("daemon", daemon)
        object.write("headline", headline)
        object.write("chain", chain)
        object.write("path", path)
        object.write("message", message)
        object.write("sentence", sentence)
        object.write("monitors", monitors)
        object.write("interfaces", interfaces)
        object.write("gateways", gateways)
        object.write("dns", dns)
        object.write("problems", problems)
    }

    private struct Judged: JSONObjectWritable {
        let state: String
        let message: String
        var hint: String?

        func write(to object: inout JSONObjectWriter) {
            object.write("state", state)
            object.write("message", message)
            object.write("hint", hint)
        }
    }

    private struct Monitor: JSONObjectWritable {
        let monitor: String
        let path: PathDocument
        let message: String
        /// Deprecated: ``message``.
        let sentence: String

        func write(to object: inout JSONObjectWriter) {
            object.write("monitor", monitor)
            object.write("path", path)
            object.write("message", message)
            object.write("sentence", sentence)
        }
    }

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
        time = clock.wall.description
        host = HostName.current
        let judged = HeadlineJudge(HeadlineFacts(host: host, path: core.path, now: clock.boot)).headline
        headline = Judged(state: judged.state.rawValue, message: judged.message, hint: judged.hint)
        chain = judged.chain.map(ChainElementDocument.init)
        path = PathDocument(core.path)
        monitors = core.monitors.map { monitor in
            let name = monitor.policy.name
            let sentence = PathSentence.state(of: monitor.path, monitor: name)
            return Monitor(monitor: name, path: PathDocument(monitor.path), message: sentence, sentence: sentence)
        }
        message = monitors.first?.message ?? ""
        sentence = message
        interfaces = core.interfaces.map { InterfaceDocument($0, at: clock.boot) }.filter { !$0.ignored }
        gateways = core.path.gateways.map(GatewayDocument.init)
        dns = DNSDocument(core.path.dns)
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
                return try JSONValue(parsing: try OrderedJSONEncoder().encode(self))
            } catch {
                throw CommandFailure("\(error)", .negative)
            }
        }
    }
}
