// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO
public import Netlink
internal import PathModel
public import Providers

/// The path of this machine with its sources: the kernel's engine, the providers, and what they need of one
/// another.
///
/// Confined to the loop's thread. The daemon stands on one, and so do the programs that import `Network`.
public final class PathSystem {
    /// The kernel's part; its events come by the handler of ``start(_:)``.
    public let engine: PathEngine
    /// Name servers, managers, radios and wires.
    public let providers: ProviderSet
    private let loop: EventLoop
    private var refreshTimer: EventLoop.Timer?
    private var isStopped = false

    /// Opens the netlink sockets in the network namespace of the calling thread.
    ///
    /// - Parameters:
    ///   - loop: Whose thread everything happens on.
    ///   - settings: What shapes the engine.
    ///   - options: Which providers there are.
    ///   - recorder: Writes down everything that is read, for a replay.
    /// - Throws: ``NetlinkError`` when there is no netlink.
    public init(
        loop: EventLoop,
        settings: EngineSettings = EngineSettings(),
        options: ProviderSet.Options = ProviderSet.Options(),
        recorder: NetlinkRecorder? = nil
    ) throws(NetlinkError) {
        self.loop = loop
        engine = try PathEngine(loop: loop, settings: settings, recorder: recorder)
        providers = ProviderSet(
            loop: loop,
            options: options,
            wired: { [unowned engine] in engine.core.classifier.wiredLinks },
            links: { [unowned engine] in engine.core.state.links }
        )
    }

    public var core: EngineCore { engine.core }

    /// Starts the providers, reads everything, and publishes changes from then on, the first evaluation included.
    /// - Throws: ``NetlinkError`` when the kernel does not let itself be read.
    public func start(_ handler: @escaping (PathEngine.Event) -> Void) throws(NetlinkError) {
        providers.onChange = { [unowned engine] facts, cause in engine.apply(facts, from: cause) }
        providers.onResume = { [unowned engine] in engine.resume() }
        providers.start()
        engine.apply(providers.facts, from: "start")
        try engine.start { [unowned self] event in
            switch event {
            case .firstReading:
                providers.measureWires()
                engine.apply(providers.facts, from: "start")
            case .audit: providers.refresh()
            case .links: providers.noteLinks()
            case .update(let update):
                if update.mayChangeResolvers { providers.noteAddresses() }
                if update.changes.contains(where: \.isOfInterface) {
                    noteWireless(update.changes)
                    scheduleRefresh()
                }
            default: break
            }
            handler(event)
        }
    }

    /// Lets go of the kernel and the services; it is not started again.
    public func stop() {
        isStopped = true
        if let refreshTimer { loop.cancel(refreshTimer) }
        refreshTimer = nil
        engine.stop()
        providers.stop()
    }

    /// nl80211 does not announce that an access point lets data pass, rtnetlink does.
    private func noteWireless(_ changes: [ModelChange]) {
        for case .interfaceChanged(let view, _, _) in changes.filter(\.isOfLinkState) where view.wifi != nil {
            providers.noteWireless(view.index, isUp: view.isUp)
        }
    }

    /// Queries the providers about new interfaces, at most once a second, however many links change.
    private func scheduleRefresh() {
        guard refreshTimer == nil, !isStopped else { return }
        refreshTimer = loop.schedule(after: .seconds(1)) { [unowned self] in
            refreshTimer = nil
            providers.refresh()
        }
    }
}

extension EngineUpdate {
    /// Whether addresses or links changed, or what addresses are good for: a resolver uses other servers then, or can be used
    /// itself.
    fileprivate var mayChangeResolvers: Bool {
        changes.contains { $0.isOfAddress || $0.isOfLinkState }
            || paths.contains { !Set($0.change.changed).isDisjoint(with: [.status, .sources]) }
    }
}

extension ModelChange {
    fileprivate var isOfLinkState: Bool {
        guard case .interfaceChanged(_, let changed, _) = self else { return false }
        return !Set(changed).isDisjoint(with: [.up, .carrier, .operstate])
    }

    fileprivate var isOfAddress: Bool {
        switch self {
        case .addressAdded, .addressRemoved: true
        default: false
        }
    }

    fileprivate var isOfInterface: Bool {
        switch self {
        case .interfaceAdded, .interfaceRemoved, .interfaceChanged: true
        default: false
        }
    }
}
