// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire
internal import MulticastDNS
internal import PathEngine
internal import PathModel

/// What engines do for one browser: they browse, and report what is on which interface.
///
/// Confined to the thread of its engines.
final class BrowseSession: EngineSession {
    /// The events of a session.
    enum Event: Hashable, Sendable {
        /// A service is on an interface, or says something else there.
        case appeared(BrowseTable.Service, NWInterface, NWTXTRecord?)
        /// A service is no longer on the interface of that index.
        case vanished(BrowseTable.Service, Int)
        /// Another program has the port for itself; or no longer.
        case deaf(Bool)
    }

    private let engines: Engines
    private let question: BrowseQuestion
    private let filter: InterfaceFilter
    private let sink: (Event) -> Void
    private let id = EngineThread.makeID()
    private var isDeaf = false
    private var query: RecordQuery?
    private var browse: ServiceBrowse?

    /// Starts browsing; what is known already is reported within this call.
    init(_ question: BrowseQuestion, filter: InterfaceFilter, engines: Engines, sink: @escaping (Event) -> Void) {
        self.engines = engines
        self.question = question
        self.filter = filter
        self.sink = sink
        engines.multicast.retain()
        engines.multicast.observe(id) { [unowned self] isDeaf in apply(isDeaf: isDeaf) }
        apply(isDeaf: engines.multicast.isDeaf)
        let engine = engines.multicast.engine
        let name = filter.required?.name
        if question.wantsText {
            browse = ServiceBrowse(engine, types: [question.pointer], interface: name) { [unowned self] in handle($0) }
        } else {
            // Names alone need no resolving: one question, and no traffic for each service.
            query = RecordQuery(engine, name: question.pointer, types: [.ptr], interface: name) { [unowned self] in
                handle($0)
            }
        }
    }

    func end() {
        query?.cancel()
        browse?.cancel()
        engines.multicast.endObserving(id)
        engines.multicast.release()
    }

    private func apply(isDeaf: Bool) {
        guard isDeaf != self.isDeaf else { return }
        self.isDeaf = isDeaf
        sink(.deaf(isDeaf))
    }

    private func handle(_ event: RecordEvent) {
        switch event {
        case .added(let answer):
            guard case .pointer(let instance) = answer.record.data else { return }
            appeared(instance, on: answer.interface, answer.interfaceIndex, text: nil)
        case .removed(let answer, _):
            guard case .pointer(let instance) = answer.record.data else { return }
            vanished(instance, from: answer.interfaceIndex)
        }
    }

    private func handle(_ event: BrowseEvent) {
        switch event {
        case .found, .unresolved: return
        case .resolved(let service), .changed(let service, _, _):
            let text = NWTXTRecord(entries: service.text)
            appeared(service.instance, on: service.interface, service.interfaceIndex, text: text)
        case .lost(let announcement, _, _, _):
            vanished(announcement.instance, from: announcement.interfaceIndex)
        }
    }

    private func appeared(_ instance: DomainName, on name: String, _ index: Int, text: NWTXTRecord?) {
        let type = engines.paths.core?.classifier.type(of: index) ?? .other
        let interface = NWInterface(name: name, index: index, type: NWInterface.InterfaceType(type))
        guard filter.allows(interface), let service = question.service(instance) else { return }
        sink(.appeared(service, interface, text))
    }

    private func vanished(_ instance: DomainName, from index: Int) {
        guard let service = question.service(instance) else { return }
        sink(.vanished(service, index))
    }
}
