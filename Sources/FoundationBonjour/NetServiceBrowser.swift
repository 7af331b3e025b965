// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire
public import Foundation
internal import Network

/// Browses for services of a type, or for domains.
///
/// Use it on one thread, that of the run loop it is scheduled in: the one of the thread that makes it, unless set
/// otherwise. It is in the network namespace of that thread. Several browsers may run at once.
open class NetServiceBrowser: NSObject {
    /// Receives what is found.
    public weak var delegate: (any NetServiceBrowserDelegate)?
    /// Whether Apple's wireless links between devices are used as well; Linux has none, and ignores it.
    public var includesPeerToPeer = false

    private var thread: EngineThread?
    /// The session of the search; 0 is none.
    private var session: UInt64 = 0
    private var services: [BrowserEvent.Name: NetService] = [:]
    private var runLoopQueue: RunLoopQueue<(session: UInt64, event: BrowserEvent)>?

    /// A browser that does nothing yet.
    public override init() {
        super.init()
        runLoopQueue = RunLoopQueue { [weak self] events in self?.handle(events) }
        schedule(in: .current, forMode: .default)
    }

    deinit { thread?.perform { [session] engines in engines.end(session) } }

    // MARK: - Run loops

    /// Calls the delegate in this mode of this run loop, too.
    open func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        runLoopQueue?.schedule(in: aRunLoop, forMode: mode)
    }

    /// Calls the delegate no more in this mode of this run loop.
    open func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        runLoopQueue?.remove(from: aRunLoop, forMode: mode)
    }

    // MARK: - Searching

    /// Browses for services of a type such as `_http._tcp.`, of a subtype as in `_http._tcp.,_printer`, or types with
    /// `_services._dns-sd._udp.`.
    /// - Parameters:
    ///   - type: The type, with or without a dot at its end.
    ///   - domainString: `local.`, or nothing, which is the same.
    open func searchForServices(ofType type: String, inDomain domainString: String) {
        do throws(NetService.ErrorCode) {
            let pointer = try Self.pointer(type, domain: domainString)
            let id = try begin()
            thread?.perform { [runLoopQueue] engines in
                engines.add(BrowserSession(pointer, engines: engines) { runLoopQueue?.post((id, $0)) }, as: id)
            }
        } catch {
            delegate?.netServiceBrowser(self, didNotSearch: error.dictionary)
        }
    }

    /// Finds the domains that can be browsed: that of links.
    open func searchForBrowsableDomains() { searchForDomains() }

    /// Finds the domains that services can be published in: the one of links.
    open func searchForRegistrationDomains() { searchForDomains() }

    /// Ends the search; the delegate is notified.
    open func stop() {
        guard session != 0 else { return }
        thread?.perform { [session] engines in engines.end(session) }
        session = 0
        services = [:]
        runLoopQueue?.post((0, .stopped))
    }

    // MARK: - Internal

    private static func pointer(_ type: String, domain: String) throws(NetService.ErrorCode) -> DomainName {
        guard ServiceNames.isLinkLocal(domain), let pointer = ServiceNames.pointer(type) else {
            throw .badArgumentError
        }
        return pointer
    }

    private func begin() throws(NetService.ErrorCode) -> UInt64 {
        guard session == 0 else { throw .activityInProgress }
        if thread == nil { thread = try? EngineThread.current() }
        guard thread != nil else { throw .unknownError }
        session = EngineThread.makeID()
        delegate?.netServiceBrowserWillSearch(self)
        return session
    }

    private func searchForDomains() {
        do throws(NetService.ErrorCode) {
            runLoopQueue?.post((try begin(), .domain))
        } catch {
            delegate?.netServiceBrowser(self, didNotSearch: error.dictionary)
        }
    }

    private func handle(_ events: [(session: UInt64, event: BrowserEvent)]) {
        for (index, entry) in events.enumerated() {
            // What was stopped since is no longer delivered; a delegate may stop the search at any time.
            if entry.event == .stopped {
                delegate?.netServiceBrowserDidStopSearch(self)
            } else if entry.session == session {
                let rest = events[(index + 1)...]
                report(entry.event, moreComing: rest.contains { $0.session == session && $0.event != .stopped })
            }
        }
    }

    private func report(_ event: BrowserEvent, moreComing: Bool) {
        switch event {
        case .found(let name):
            let service = NetService(domain: name.domain, type: name.type, name: name.name)
            services[name] = service
            delegate?.netServiceBrowser(self, didFind: service, moreComing: moreComing)
        case .removed(let name):
            guard let service = services.removeValue(forKey: name) else { return }
            delegate?.netServiceBrowser(self, didRemove: service, moreComing: moreComing)
        case .domain:
            delegate?.netServiceBrowser(self, didFindDomain: ServiceNames.domain, moreComing: moreComing)
        case .stopped: return
        }
    }
}
