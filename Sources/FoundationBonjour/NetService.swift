// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire
public import Foundation
internal import MulticastDNS
internal import Network

/// A service on the link: one to be published, or one to be resolved.
///
/// Use it on one thread, that of the run loop it is scheduled in: the one of the thread that makes it, unless set
/// otherwise. It is in the network namespace of that thread.
open class NetService: NSObject {
    private enum Activity {
        case idle, publishing, published, resolving, resolved
    }

    /// Receives the events of the service.
    public weak var delegate: (any NetServiceDelegate)?
    /// Whether Apple's wireless links between devices are used as well; Linux has none, and ignores it.
    public var includesPeerToPeer = false
    /// The domain, such as `local.`.
    public let domain: String
    /// The type, such as `_http._tcp.`.
    public let type: String
    /// The name; publishing may change it.
    public private(set) var name: String
    /// The port; -1 before it is known.
    public private(set) var port: Int
    /// The host, such as `printer.local.`, once the service was resolved.
    public private(set) var hostName: String?
    /// The addresses as `sockaddr_in` and `sockaddr_in6`, once the service was resolved.
    public private(set) var addresses: [Data]?

    private var text: Data?
    private var activity = Activity.idle
    private var thread: EngineThread?
    /// The session of publishing or resolving, and that of monitoring.
    private var session: UInt64 = 0
    private var monitor: UInt64 = 0
    private var runLoopQueue: RunLoopQueue<(session: UInt64, event: ServiceEvent)>?

    /// A service to be published; an empty name is that of the machine.
    public init(domain: String, type: String, name: String, port: Int32) {
        self.domain = domain
        self.type = type
        self.name = name
        self.port = Int(port)
        super.init()
        runLoopQueue = RunLoopQueue { [weak self] events in
            for event in events { self?.handle(event.event, of: event.session) }
        }
        schedule(in: .current, forMode: .default)
    }

    /// A service to be resolved.
    public convenience init(domain: String, type: String, name: String) {
        self.init(domain: domain, type: type, name: name, port: -1)
    }

    deinit { thread?.perform { [session, monitor] engines in [session, monitor].forEach(engines.end) } }

    /// Whether another object stands for the same service.
    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? NetService else { return false }
        return (name, type, domain) == (other.name, other.type, other.domain)
    }

    /// A hash that equal services share.
    open override var hash: Int {
        var hasher = Hasher()
        hasher.combine(name)
        hasher.combine(type)
        return hasher.finalize()
    }

    /// The name, type and domain.
    open override var description: String { "NetService(\(name).\(type)\(domain))" }

    // MARK: - Run loops

    /// Calls the delegate in this mode of this run loop, too.
    public func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        runLoopQueue?.schedule(in: aRunLoop, forMode: mode)
    }

    /// Calls the delegate no more in this mode of this run loop.
    public func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        runLoopQueue?.remove(from: aRunLoop, forMode: mode)
    }

    // MARK: - Publishing

    /// Publishes the service, under another name when its own is in use.
    public func publish() { publish(options: []) }

    /// Publishes the service.
    open func publish(options: Options) {
        let isBegun = begin(.publishing) { identity throws(ErrorCode) in
            guard let port = UInt16(exactly: port) else { throw .badArgumentError }
            let name = identity.name.isEmpty ? ProcessInfo.processInfo.hostName : identity.name
            var service = ServiceRegistration(
                name: Array(name.prefix { $0 != "." || !identity.name.isEmpty }.utf8),
                type: identity.registeredType,
                port: port
            )
            service.subtypes = identity.subtypes.map { Array($0.utf8) }
            service.text = TextRecord(data: Array(text ?? Data())).entries
            service.allowsRenaming = !options.contains(.noAutoRename)
            guard (try? service.validate()) != nil else { throw .badArgumentError }
            let registration = service
            return { engines, sink in
                do throws(RegistrationError) {
                    return try PublishSession(registration, engines: engines, sink: sink)
                } catch {
                    sink(.failed(.badArgumentError))
                    return nil
                }
            }
        }
        if isBegun { delegate?.netServiceWillPublish(self) }
    }

    /// What the service says about itself; `nil` before that is known.
    public func txtRecordData() -> Data? { text }

    /// Changes what the service says about itself, also while it is published.
    /// - Returns: `false` when it does not fit into a record.
    @discardableResult
    public func setTXTRecord(_ recordData: Data?) -> Bool {
        guard (recordData?.count ?? 0) <= NameRules.maximumText else { return false }
        text = recordData
        guard activity == .publishing || activity == .published else { return true }
        let entries = TextRecord(data: Array(recordData ?? Data())).entries
        thread?.perform { [session] engines in engines.session(session, as: PublishSession.self)?.update(text: entries)
        }
        return true
    }

    // MARK: - Resolving

    /// Finds out where the service is, for five seconds at most.
    public func resolve() { resolve(withTimeout: 5) }

    /// Finds out where the service is, and follows it as long as that lasts; zero has no limit.
    open func resolve(withTimeout timeout: TimeInterval) {
        // Longer than anybody waits has no limit; what is no number has none either.
        let limit = timeout < 1e9 ? Duration.milliseconds(Int64(max(timeout, 0) * 1000)) : .zero
        let isBegun = begin(.resolving) { identity throws(ErrorCode) in
            let instances = identity.instances
            guard !instances.isEmpty else { throw .badArgumentError }
            return { engines, sink in ResolveSession(instances, timeout: limit, engines: engines, sink: sink) }
        }
        if isBegun { delegate?.netServiceWillResolve(self) }
    }

    /// Ends publishing or resolving; the delegate is notified.
    open func stop() {
        guard activity != .idle else { return }
        finish()
        runLoopQueue?.post((session, .stopped))
    }

    // MARK: - Monitoring

    /// Follows what the service says about itself.
    open func startMonitoring() {
        guard monitor == 0, let identity = try? ServiceIdentity(domain: domain, type: type, name: name),
            !identity.name.isEmpty, let thread = engineThread()
        else { return }
        let id = EngineThread.makeID()
        monitor = id
        thread.perform { [runLoopQueue] engines in
            engines.add(TextSession(identity.instances, engines: engines) { runLoopQueue?.post((id, $0)) }, as: id)
        }
    }

    /// Follows it no more.
    open func stopMonitoring() {
        thread?.perform { [monitor] engines in engines.end(monitor) }
        monitor = 0
    }

    // MARK: - Internal

    private typealias Maker = @Sendable (Engines, @escaping @Sendable (ServiceEvent) -> Void) -> (any EngineSession)?

    private func engineThread() -> EngineThread? {
        if thread == nil { thread = try? EngineThread.current() }
        return thread
    }

    private func begin(
        _ next: Activity,
        _ prepare: (ServiceIdentity) throws(ErrorCode) -> Maker
    ) -> Bool {
        let id = EngineThread.makeID()
        do throws(ErrorCode) {
            guard activity == .idle else { throw .activityInProgress }
            let make = try prepare(ServiceIdentity(domain: domain, type: type, name: name))
            guard let thread = engineThread() else { throw .unknownError }
            activity = next
            session = id
            thread.perform { [runLoopQueue] engines in
                if let session = make(engines, { runLoopQueue?.post((id, $0)) }) { engines.add(session, as: id) }
            }
            return true
        } catch {
            // Not the present activity failed, if there is one: the new request fails at once.
            if next == .publishing {
                delegate?.netService(self, didNotPublish: error.dictionary)
            } else {
                delegate?.netService(self, didNotResolve: error.dictionary)
            }
            return false
        }
    }

    private func finish() {
        activity = .idle
        thread?.perform { [session] engines in engines.end(session) }
        // What it has posted already is no longer delivered.
        session = EngineThread.makeID()
    }

    private func handle(_ event: ServiceEvent, of id: UInt64) {
        // What was stopped since is no longer delivered.
        guard id == session || id == monitor || event == .stopped else { return }
        switch event {
        case .published(let name):
            self.name = name
            let isFirst = activity == .publishing
            activity = .published
            if isFirst { delegate?.netServiceDidPublish(self) }
        case .collided: fail(.collisionError)
        case .failed(let code): fail(code)
        case .resolved(let location):
            activity = .resolved
            (hostName, port, addresses, text) = (
                location.host, Int(location.port), location.addresses, location.text
            )
            delegate?.netServiceDidResolveAddress(self)
        case .timedOut:
            guard activity == .resolved else { return fail(.timeoutError) }
            finish()
            delegate?.netServiceDidStop(self)
        case .text(let data):
            text = data
            delegate?.netService(self, didUpdateTXTRecord: data)
        case .stopped: delegate?.netServiceDidStop(self)
        }
    }

    private func fail(_ code: ErrorCode) {
        let wasPublishing = activity == .publishing || activity == .published
        finish()
        if wasPublishing {
            delegate?.netService(self, didNotPublish: code.dictionary)
        } else {
            delegate?.netService(self, didNotResolve: code.dictionary)
        }
    }
}
