// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

@_exported public import Dispatch
internal import Glibc
internal import LinuxIO
internal import Synchronization

/// Browses for services on the links, and reports which come and go.
///
/// A service is one result, however many interfaces it is on. A browser is in the network namespace of the thread that
/// starts it. It must be kept: dropping the last reference ends it.
public final class NWBrowser: Sendable {
    private struct Content {
        var state = State.setup
        var stateHandler: (@Sendable (State) -> Void)?
        var resultsHandler: (@Sendable (Set<Result>, Set<Result.Change>) -> Void)?
        var queue: DispatchQueue?
        /// Calls handlers one after another, in order, on the queue.
        var serial: DispatchQueue?
        var thread: EngineThread?
        var table = BrowseTable()
        var isScheduled = false
    }

    /// What it browses for.
    public let descriptor: Descriptor
    /// How; what is changed after the start does not count.
    public let parameters: NWParameters
    private let content = Mutex(Content())
    private let id = EngineThread.makeID()

    /// Prepares a browser; ``start(queue:)`` starts it.
    ///
    /// Of the parameters, the limits on interfaces count.
    public init(for descriptor: Descriptor, using parameters: NWParameters) {
        self.descriptor = descriptor
        self.parameters = parameters
    }

    deinit {
        if let thread = content.withLock({ $0.thread }) { thread.perform { [id] engines in engines.end(id) } }
    }

    /// What became of the browser.
    public var state: State { content.withLock { $0.state } }
    /// The queue of ``start(queue:)``; `nil` before.
    public var queue: DispatchQueue? { content.withLock { $0.queue } }
    /// Everything that is there, as last reported.
    public var browseResults: Set<Result> { content.withLock { $0.table.results } }

    /// Called on the queue with every new state.
    @preconcurrency public var stateUpdateHandler: (@Sendable (_ newState: State) -> Void)? {
        get { content.withLock { $0.stateHandler } }
        set { content.withLock { $0.stateHandler = newValue } }
    }

    /// Called on the queue with everything that is there, and what changed since the call before.
    ///
    /// Changes that come while the queue is busy are reported in one call.
    @preconcurrency public var browseResultsChangedHandler:
        (@Sendable (_ newResults: Set<Result>, _ changes: Set<Result.Change>) -> Void)?
    {
        get { content.withLock { $0.resultsHandler } }
        set { content.withLock { $0.resultsHandler = newValue } }
    }

    /// Starts browsing; only the first call counts.
    ///
    /// The browser becomes ready, or fails where nothing can be queried: a type that is not valid
    /// (`kDNSServiceErr_BadParam`), another domain than `local` or services of paired devices
    /// (`kDNSServiceErr_Unsupported`), or no more descriptors (`EMFILE`). It waits (`EADDRINUSE`) while another program
    /// has port 5353 for itself.
    public func start(queue: DispatchQueue) {
        let isFirst = content.withLock { content in
            guard content.queue == nil, content.state == .setup else { return false }
            content.queue = queue
            content.serial = DispatchQueue(label: "network.browser", target: queue)
            return true
        }
        guard isFirst else { return }
        do throws(NWError) {
            try open(for: BrowseQuestion(descriptor))
        } catch {
            enter(.failed(error))
        }
    }

    /// Ends the browser for good; the last state is ``State/cancelled``, and results are no longer reported.
    public func cancel() {
        enter(.cancelled)
        let thread = content.withLock { content in
            defer { content.thread = nil }
            return content.thread
        }
        thread?.perform { [id] engines in engines.end(id) }
    }

    // MARK: - Internal

    private func open(for question: BrowseQuestion) throws(NWError) {
        let thread: EngineThread
        do throws(Errno) {
            thread = try EngineThread.current()
        } catch {
            throw NWError(error)
        }
        let filter = InterfaceFilter(parameters.values)
        enter(.ready)
        content.withLock { $0.thread = thread }
        thread.perform { [weak self, id] engines in
            // It may have been cancelled, or dropped, before the thread came to it.
            guard self?.state == .ready else { return }
            let session = BrowseSession(question, filter: filter, engines: engines) { [weak self] in self?.handle($0) }
            engines.add(session, as: id)
        }
    }

    private func handle(_ event: BrowseSession.Event) {
        if case .deaf(let isDeaf) = event { enter(isDeaf ? .waiting(.posix(.EADDRINUSE)) : .ready) }
        let serial = content.withLock { content -> DispatchQueue? in
            switch event {
            case .appeared(let service, let interface, let text):
                content.table.appeared(service, on: interface, text: text)
            case .vanished(let service, let index):
                content.table.vanished(service, from: index)
            case .deaf: break
            }
            guard !content.isScheduled else { return nil }
            content.isScheduled = true
            return content.serial
        }
        serial?.async { [weak self] in self?.notify() }
    }

    private func notify() {
        typealias Call = (handler: @Sendable (Set<Result>, Set<Result.Change>) -> Void, Set<Result>, Set<Result.Change>)
        let call = content.withLock { content -> Call? in
            content.isScheduled = false
            guard content.state == .ready else { return nil }
            let changes = content.table.drainChanges()
            guard !changes.isEmpty, let handler = content.resultsHandler else { return nil }
            return (handler, content.table.results, changes)
        }
        if let call { call.handler(call.1, call.2) }
    }

    private func enter(_ state: State) {
        let serial = content.withLock { content -> DispatchQueue? in
            guard content.state != .cancelled else { return nil }
            content.state = state
            return content.serial
        }
        serial?.async { [self] in
            stateUpdateHandler?(state)
            guard case .cancelled = state else { return }
            // What handlers hold is let go with the last call.
            content.withLock { content in
                content.stateHandler = nil
                content.resultsHandler = nil
            }
        }
    }
}

extension NWBrowser: CustomDebugStringConvertible {
    /// What it browses for, and its state.
    public var debugDescription: String { "NWBrowser(\(descriptor), \(state))" }
}
