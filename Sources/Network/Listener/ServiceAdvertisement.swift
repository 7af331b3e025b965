// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire
internal import FoundationEssentials
internal import Glibc
internal import MulticastDNS

/// The service of one listener on the links; confined to the thread of its engines.
final class ServiceAdvertisement {
    /// Its events.
    enum Event {
        /// The change of the registration.
        case changed(NWListener.ServiceRegistrationChange)
        /// The service cannot be advertised.
        case failed(NWError)
    }

    private let engines: Engines
    private let port: UInt16
    private let interface: String?
    private let sink: (Event) -> Void
    private var service: NWListener.Service?
    private var id: AdvertisementID?
    private var reported: NWEndpoint?

    /// Advertises nothing yet.
    init(port: UInt16, interface: String?, engines: Engines, sink: @escaping (Event) -> Void) {
        self.port = port
        self.interface = interface
        self.engines = engines
        self.sink = sink
    }

    deinit { withdraw() }

    /// Advertises this service from now on; one that differs in its text alone is updated.
    func set(_ new: NWListener.Service?) {
        let old = service
        service = new
        if let old, let new, let id, (old.name, old.type, old.domain) == (new.name, new.type, new.domain) {
            do throws(RegistrationError) {
                try engines.multicast.engine.update(text: Self.text(of: new), of: id)
            } catch {
                sink(.failed(.dns(kDNSServiceErr_BadParam)))
            }
            return
        }
        withdraw()
        if let new { advertise(new) }
    }

    /// Advertises nothing any more.
    func withdraw() {
        guard let id else { return }
        self.id = nil
        engines.multicast.engine.withdraw(id)
        engines.multicast.release()
        report(nil)
    }

    private func advertise(_ service: NWListener.Service) {
        guard ServiceNames.isLinkLocal(service.domain) else { return sink(.failed(.dns(kDNSServiceErr_Unsupported))) }
        engines.multicast.retain()
        do throws(RegistrationError) {
            id = try engines.multicast.engine.advertise(registration(of: service)) { [weak self] event in
                self?.handle(event)
            }
        } catch {
            engines.multicast.release()
            sink(.failed(.dns(kDNSServiceErr_BadParam)))
        }
    }

    private func registration(of service: NWListener.Service) -> ServiceRegistration {
        var parts = service.type.split(separator: ",").map(String.init)
        let type = parts.isEmpty ? "" : parts.removeFirst()
        let name = service.name.flatMap { $0.isEmpty ? nil : $0 } ?? Self.machineName
        var registration = ServiceRegistration(
            name: Array(name.utf8),
            type: type.hasSuffix(".") ? String(type.dropLast()) : type,
            port: port
        )
        registration.subtypes = parts.map { Array($0.utf8) }
        registration.text = Self.text(of: service)
        registration.allowsRenaming = !service.noAutoRename
        if let interface { registration.interfaces = [interface] }
        return registration
    }

    private static func text(of service: NWListener.Service) -> [TextRecord.Entry] {
        service.txtRecordObject?.textEntries ?? []
    }

    private func handle(_ event: AdvertisementEvent) {
        switch event.kind {
        case .registered(let name):
            guard let parts = ServiceNames.parts(name) else { return }
            report(.service(name: parts.name, type: parts.type, domain: ServiceNames.domain, interface: nil))
        case .renamed: report(nil)
        case .updated: return
        case .conflict:
            report(nil)
            sink(.failed(.dns(kDNSServiceErr_NameConflict)))
        }
    }

    /// Reports under which name the service is there now; `nil` is under none.
    private func report(_ endpoint: NWEndpoint?) {
        guard endpoint != reported else { return }
        if let reported { sink(.changed(.remove(reported))) }
        reported = endpoint
        if let endpoint { sink(.changed(.add(endpoint))) }
    }

    /// What the kernel calls this machine, without a domain.
    private static var machineName: String {
        var bytes = [UInt8](repeating: 0, count: 256)
        let isKnown = unsafe bytes.withUnsafeMutableBytes { bytes -> Bool? in
            let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            return unsafe start.map { unsafe gethostname($0, bytes.count) == 0 }
        }
        let name = String(decoding: bytes.prefix { $0 != 0 && $0 != 0x2E }, as: UTF8.self)
        return isKnown == true && !name.isEmpty ? name : "linux"
    }
}
