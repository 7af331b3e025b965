// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import LinuxIO
internal import Netlink
internal import PathEngine
internal import PathModel
internal import Providers

/// Receives changes of the network; confined to the thread of its engines.
protocol PathFollower: AnyObject {
    /// What it wants to know of the path.
    var question: PathQuestion { get }
    /// Something changed: the path, an interface or an address.
    func networkChanged()
    /// The kernel reported a link or an address, whether or not that is a change of the path.
    func linksChanged()
}

extension PathFollower {
    func linksChanged() {}
}

/// One path that many objects hold.
final class SharedPath: Sendable, Hashable {
    let value: Path

    init(_ value: Path) { self.value = value }

    static func == (left: SharedPath, right: SharedPath) -> Bool { left === right || left.value == right.value }

    func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

/// Follows the path for everybody in one network namespace: one engine, one subscription to the kernel.
///
/// Confined to the thread of its loop. It starts with the first subscriber and stops after the last one.
final class PathHub {
    private struct Subscriber {
        let question: PathQuestion
        let sink: (Path) -> Void
        var reported: Path?
    }

    private let loop: EventLoop
    private let options: ProviderSet.Options
    private var system: PathSystem?
    private var subscribers: [UInt64: Subscriber] = [:]
    /// How many subscribers have a question.
    private var questions: [PathQuestion: Int] = [:]
    /// Called when interfaces or addresses changed.
    var onInterfaces: () -> Void = {}
    /// Called when the machine woke up.
    var onResume: () -> Void = {}
    /// Notified of every update.
    private var followers: [UInt64: any PathFollower] = [:]
    /// Answers that were given since the last update, so that many connections share one.
    private var answers: [PathQuestion: SharedPath] = [:]
    private var localAnswers: [PathQuestion: SharedPath] = [:]
    /// How often netlink was subscribed to; one is enough for any number of monitors.
    private(set) var starts = 0

    /// Prepares to follow the path.
    init(loop: EventLoop, options: ProviderSet.Options = .init()) {
        self.loop = loop
        self.options = options
    }

    /// Whether the engine runs.
    var isRunning: Bool { system != nil }

    /// The core of the engine, while somebody follows it.
    var core: EngineCore? { system?.core }

    /// Reports the answer to a question, within this call and whenever it changes.
    ///
    /// Where the kernel cannot be queried the answer is that there is no interface.
    func subscribe(_ id: UInt64, to question: PathQuestion, sink: @escaping (Path) -> Void) {
        if system == nil { start() }
        subscribers[id] = Subscriber(question: question, sink: sink)
        questions[question, default: 0] += 1
        if questions[question] == 1 { applyQuestions() }
        publish(id, answer(to: question))
    }

    /// Ends what ``subscribe(_:to:sink:)`` began.
    func unsubscribe(_ id: UInt64) {
        guard let question = subscribers.removeValue(forKey: id)?.question else { return }
        guard !subscribers.isEmpty else { return stop() }
        drop(question)
    }

    private func drop(_ question: PathQuestion) {
        let others = questions[question, default: 1] - 1
        questions[question] = others > 0 ? others : nil
        if others == 0 { applyQuestions() }
    }

    /// Notifies `follower` whenever something of the network changed, until ``unfollow(_:)``.
    ///
    /// The engine evaluates its question meanwhile. It keeps the follower, and nothing running.
    func follow(_ id: UInt64, _ follower: any PathFollower) {
        followers[id] = follower
        // The default question is always evaluated.
        guard follower.question != PathQuestion() else { return }
        questions[follower.question, default: 0] += 1
        if questions[follower.question] == 1 { applyQuestions() }
    }

    /// Ends what ``follow(_:_:)`` began.
    func unfollow(_ id: UInt64) {
        guard let question = followers.removeValue(forKey: id)?.question, question != PathQuestion() else { return }
        drop(question)
    }

    /// The answer to a question now.
    func path(_ question: PathQuestion) -> SharedPath {
        if let known = answers[question] { return known }
        let path = SharedPath(answer(to: question))
        answers[question] = path
        return path
    }

    /// The answer for a connection that stays within the machine.
    func localPath(_ question: PathQuestion) -> SharedPath {
        if let known = localAnswers[question] { return known }
        let path = SharedPath(FlowRoute(interface: loopback).path(from: path(question).value))
        localAnswers[question] = path
        return path
    }

    private var loopback: PathInterface? {
        guard let core, let link = core.state.links.values.first(where: core.classifier.isLoopback) else { return nil }
        return PathInterface(name: link.name, index: link.index, type: core.classifier.type(of: link))
    }

    /// Queries the kernel where a packet would go, while the path is followed.
    func lookup(_ query: RouteQuery) -> Result<RouteAnswer, RouteFailure>? { system?.engine.source.lookup(query) }

    /// Lets go of kernel and services.
    func stop() {
        subscribers = [:]
        questions = [:]
        forgetAnswers()
        system?.stop()
        system = nil
    }

    // MARK: - Engine

    private func start() {
        var settings = EngineSettings()
        settings.policy.boundInterface = SocketBinding.inherited()
        guard let system = try? PathSystem(loop: loop, settings: settings, options: options) else { return }
        self.system = system
        forgetAnswers()
        starts += 1
        do {
            try system.start { [unowned self] event in receive(event) }
        } catch {
            stop()
        }
    }

    private func receive(_ event: PathEngine.Event) {
        switch event {
        case .update(let update): publish(update)
        case .links:
            onInterfaces()
            for follower in followers.values { follower.linksChanged() }
        case .resume: onResume()
        default: break
        }
    }

    private func forgetAnswers() { (answers, localAnswers) = ([:], [:]) }

    private func publish(_ update: EngineUpdate) {
        forgetAnswers()
        for change in update.paths {
            for (id, subscriber) in subscribers where subscriber.question.name == change.monitor {
                publish(id, change.change.current)
            }
        }
        for follower in followers.values { follower.networkChanged() }
    }

    /// Reports to a subscriber what differs from the last report.
    private func publish(_ id: UInt64, _ path: Path) {
        guard let subscriber = subscribers[id], subscriber.reported != path else { return }
        subscribers[id]?.reported = path
        subscriber.sink(path)
    }

    // MARK: - Questions

    private func applyQuestions() {
        forgetAnswers()
        guard let engine = system?.engine else { return }
        let policies = questions.keys.filter { $0 != PathQuestion() }.map(\.policy).sorted { $0.name < $1.name }
        guard policies != engine.core.settings.policy.monitors else { return }
        var settings = engine.core.settings
        settings.policy.monitors = policies
        engine.apply(settings)
    }

    /// What is published of a question; one that is new to the engine is evaluated now.
    private func answer(to question: PathQuestion) -> Path {
        guard let engine = system?.engine else { return Path() }
        if let state = engine.core.monitor(named: question.name), let path = state.tracker.current { return path }
        let evaluator = PathEvaluator(engine.core.classifier)
        return evaluator.evaluate(question.policy, table: engine.table, at: loop.clock.boot).path
    }
}
