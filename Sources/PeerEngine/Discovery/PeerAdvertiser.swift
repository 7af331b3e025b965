// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire
package import MulticastDNS

/// Lets a peer be found under a type, and receives invitations; confined to the thread of its loop.
package final class PeerAdvertiser {
    package enum Event {
        case invited(PeerInvitation)
        /// It cannot be found; why, as a sentence.
        case failed(String)
    }

    let serviceType: String
    let onEvent: (Event) -> Void
    private let host: PeerHost
    private let engine: MulticastEngine
    private var id: AdvertisementID?

    /// Begins at once, and ends when it is let go; `info` is said with the name.
    package init(
        _ host: PeerHost,
        serviceType: String,
        info: [String: String],
        engine: MulticastEngine,
        onEvent: @escaping (Event) -> Void
    ) {
        self.host = host
        self.serviceType = serviceType
        self.engine = engine
        self.onEvent = onEvent
        let announcement = PeerAnnouncement(
            key: host.identity.key,
            name: host.name,
            serviceType: serviceType,
            boot: host.boot,
            info: info
        )
        var registration = ServiceRegistration(
            name: Array(host.identity.key.instanceName.utf8),
            type: PeerAnnouncement.type,
            port: host.portNumber
        )
        registration.subtypes = [Array(PeerAnnouncement.subtype(serviceType).utf8)]
        registration.text = announcement.text
        // A name of the peer's own: machines of one image have the same name until they notice.
        if let name = DomainName("\(host.identity.key.instanceName).local") {
            registration.host = .claimed(name, addresses: nil)
        }
        do throws(RegistrationError) {
            id = try engine.advertise(registration) { _ in }
            host.add(self)
        } catch {
            onEvent(.failed("\(error)"))
        }
    }

    deinit { stop() }

    package func stop() {
        guard let id else { return }
        self.id = nil
        host.remove(self)
        engine.withdraw(id)
    }
}
