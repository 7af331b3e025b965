// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire
internal import MulticastDNS
internal import Network

/// An event of a browser.
enum BrowserEvent: Hashable, Sendable {
    /// A service is there.
    case found(Name)
    /// A service is gone.
    case removed(Name)
    /// The domain of links.
    case domain
    /// The search was stopped.
    case stopped

    /// The parts of a service's name, as ``NetService`` has them.
    struct Name: Hashable, Sendable {
        let name: String
        let type: String
        let domain: String
    }
}

/// Follows the services of a type; confined to the thread of its engines.
final class BrowserSession: EngineSession {
    private let engines: Engines
    private let sink: (BrowserEvent) -> Void
    private var query: RecordQuery?
    /// On which interfaces a service is: it is found on the first one, and gone from the last one.
    private var interfaceIndexes: [BrowserEvent.Name: Set<Int>] = [:]

    /// Starts browsing.
    init(_ pointer: DomainName, engines: Engines, sink: @escaping (BrowserEvent) -> Void) {
        self.engines = engines
        self.sink = sink
        engines.multicast.retain()
        query = RecordQuery(engines.multicast.engine, name: pointer, types: [.ptr]) { [unowned self] in handle($0) }
    }

    func end() {
        query?.cancel()
        engines.multicast.release()
    }

    private func handle(_ event: RecordEvent) {
        switch event {
        case .added(let answer):
            guard let name = Self.name(in: answer) else { return }
            interfaceIndexes[name, default: []].insert(answer.interfaceIndex)
            if interfaceIndexes[name]?.count == 1 { sink(.found(name)) }
        case .removed(let answer, _):
            guard let name = Self.name(in: answer), var left = interfaceIndexes[name],
                left.remove(answer.interfaceIndex) != nil
            else { return }
            interfaceIndexes[name] = left.isEmpty ? nil : left
            if left.isEmpty { sink(.removed(name)) }
        }
    }

    /// The parts of a name, each with a dot at its end but the first; a type by itself, which the enumeration of types
    /// names, has its transport as type and the root as domain, as on Apple's systems.
    private static func name(in answer: RecordAnswer) -> BrowserEvent.Name? {
        guard case .pointer(let instance) = answer.record.data else { return nil }
        if let service = ServiceNames.parts(instance) {
            return BrowserEvent.Name(name: service.name, type: service.type + ".", domain: ServiceNames.domain)
        }
        return ServiceNames.enumerated(instance).map {
            BrowserEvent.Name(name: $0.name, type: $0.type, domain: ServiceNames.root)
        }
    }
}
