// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Configuration
internal import DNSWire
internal import MulticastDNS

/// Offers the services of the configuration to the neighbours, and brings them in line after a reload.
///
/// Confined to the loop. The engine says goodbye when it stops.
final class ServiceAdvertiser {
    private let engine: MulticastEngine
    private var hostName: String
    private var names: AdvertisedNames
    private var offers: [(service: AdvertisedService, id: AdvertisementID)] = []
    private var refusal: String?
    private var wanted: [AdvertisedService] = []

    init(_ engine: MulticastEngine, hostName: String, directory: String) {
        self.engine = engine
        self.hostName = hostName
        names = AdvertisedNames(directory: directory)
    }

    /// What is wrong; `nil` when all is well.
    var problem: String? { refusal ?? names.problem }

    /// Reads which names were chosen in an earlier run.
    func open() { engine.rememberedNames = names.read() }

    /// Another host had a name of ours: the one that is tried next is kept for the next start.
    func noteConflict() { names.write(engine.rememberedNames) }

    /// Offers what is called like the machine under its new name; all services run on that one as soon as it is theirs.
    func take(hostName name: String) {
        hostName = name
        let services = wanted
        offer(services.filter { $0.name != nil })
        offer(services)
    }

    /// Offers these services and no others: what is new is probed for, what changed is announced, what is gone gets a
    /// goodbye.
    func offer(_ services: [AdvertisedService]) {
        wanted = services
        refusal = nil
        let old = offers
        offers = []
        for offer in old where !services.contains(where: { $0.isSuccessor(of: offer.service) }) {
            engine.withdraw(offer.id)
        }
        for service in services {
            do throws(RegistrationError) {
                let registration = service.registration(hostName: hostName)
                if let offer = old.first(where: { service.isSuccessor(of: $0.service) }) {
                    offers.append((service, offer.id))
                    try engine.update(registration, of: offer.id)
                } else {
                    offers.append((service, try engine.advertise(registration)))
                }
            } catch {
                refusal = "\(service.type) cannot be advertised: \(error)"
            }
        }
    }
}

extension AdvertisedService {
    /// Whether it is the other one with other data: the same name in the same places.
    fileprivate func isSuccessor(of other: AdvertisedService) -> Bool {
        isNamed(as: other) && name == other.name && Set(interfaces) == Set(other.interfaces)
    }

    func registration(hostName: String) -> ServiceRegistration {
        var service = ServiceRegistration(
            name: Array((name ?? ComposedText.compose(hostName) ?? hostName).utf8),
            type: type,
            port: UInt16(clamping: port)
        )
        service.text = text
        service.subtypes = subtypes.map { Array($0.utf8) }
        service.interfaces = interfaces.isEmpty ? nil : Set(interfaces)
        return service
    }
}
