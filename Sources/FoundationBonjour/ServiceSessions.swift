// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire
internal import Foundation
internal import LinuxIO
internal import MulticastDNS
internal import Network

/// What becomes of a service on the network.
enum ServiceEvent: Hashable, Sendable {
    /// Its name is free, and answered for from now on.
    case published(name: String)
    /// Its name is in use.
    case collided
    /// Where it is.
    case resolved(Location)
    /// It was not found in time, or the time for resolving is over.
    case timedOut
    /// What it says about itself.
    case text(Data)
    /// It cannot be done.
    case failed(NetService.ErrorCode)
    /// It was stopped.
    case stopped

    /// Where a service is.
    struct Location: Hashable, Sendable {
        let host: String
        let port: UInt16
        let addresses: [Data]
        let text: Data
    }
}

/// Publishes a service; confined to the thread of its engines.
final class PublishSession: EngineSession {
    private let engines: Engines
    private let id: AdvertisementID

    /// Starts probing for the name.
    /// - Throws: What is wrong with the service.
    init(
        _ service: ServiceRegistration,
        engines: Engines,
        sink: @escaping (ServiceEvent) -> Void
    )
        throws(RegistrationError)
    {
        self.engines = engines
        engines.multicast.retain()
        do throws(RegistrationError) {
            id = try engines.multicast.engine.advertise(service) { event in
                switch event.kind {
                case .registered(let name), .renamed(_, let name):
                    guard case .registered = event.kind, let label = name.firstLabel else { return }
                    sink(.published(name: String(decoding: label, as: UTF8.self)))
                case .conflict: sink(.collided)
                case .updated: return
                }
            }
        } catch {
            engines.multicast.release()
            throw error
        }
    }

    /// Changes what the service says about itself.
    func update(text: [TextRecord.Entry]) { try? engines.multicast.engine.update(text: text, of: id) }

    func end() {
        engines.multicast.engine.withdraw(id)
        engines.multicast.release()
    }
}

/// Finds out where a service is; confined to the thread of its engines.
final class ResolveSession: EngineSession {
    private let engines: Engines
    private let sink: (ServiceEvent) -> Void
    private var resolve: InstanceResolve?
    private var timer: EventLoop.Timer?
    private var reported: ServiceEvent.Location?

    /// Begins to resolve what has one of these names, for `timeout` at most; zero has no limit.
    init(_ instances: [DomainName], timeout: Duration, engines: Engines, sink: @escaping (ServiceEvent) -> Void) {
        self.engines = engines
        self.sink = sink
        engines.multicast.retain()
        if timeout > .zero {
            timer = engines.loop.schedule(after: timeout) { [unowned self] in
                timer = nil
                sink(.timedOut)
            }
        }
        resolve = InstanceResolve(engines.multicast.engine, instances: Set(instances)) { [unowned self] _ in report() }
        report()
    }

    func end() {
        if let timer { engines.loop.cancel(timer) }
        resolve?.cancel()
        engines.multicast.release()
    }

    /// Reports where the service is, on all interfaces together, when that has changed.
    private func report() {
        let services = (resolve?.services ?? []).sorted { $0.interfaceIndex < $1.interfaceIndex }
        guard let first = services.first else { return }
        var addresses: [Data] = []
        for service in services where service.host == first.host {
            for scoped in service.addresses {
                let data = SocketAddress.data(scoped.address, port: service.port, scope: service.interfaceIndex)
                if !addresses.contains(data) { addresses.append(data) }
            }
        }
        guard !addresses.isEmpty else { return }
        let location = ServiceEvent.Location(
            host: first.host.hasSuffix(".") ? first.host : first.host + ".",
            port: first.port,
            addresses: addresses,
            text: Data(TextRecord(strings: first.rawText).data)
        )
        guard location != reported else { return }
        reported = location
        sink(.resolved(location))
    }
}

/// Follows what a service says about itself; confined to the thread of its engines.
final class TextSession: EngineSession {
    private let engines: Engines
    private var queries: [RecordQuery] = []

    /// Begins to follow what has one of these names.
    init(_ instances: [DomainName], engines: Engines, sink: @escaping (ServiceEvent) -> Void) {
        self.engines = engines
        engines.multicast.retain()
        queries = instances.map { instance in
            RecordQuery(engines.multicast.engine, name: instance, types: [.txt]) { event in
                guard case .added(let answer) = event, case .text(let bytes) = answer.record.data else { return }
                sink(.text(Data(bytes)))
            }
        }
    }

    func end() {
        for query in queries { query.cancel() }
        engines.multicast.release()
    }
}
