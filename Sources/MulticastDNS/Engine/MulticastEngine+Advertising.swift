// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import DNSWire

extension MulticastEngine {
    /// Advertises a service on all interfaces, or on those it names, until ``withdraw(_:)``.
    /// - Parameters:
    ///   - service: The service.
    ///   - onEvent: Called on the loop's thread for what becomes of it; may be called within this call.
    /// - Returns: What to change or withdraw it by.
    /// - Throws: What is wrong with it.
    @discardableResult
    public func advertise(
        _ service: ServiceRegistration,
        onEvent: @escaping (AdvertisementEvent) -> Void = { _ in }
    ) throws(RegistrationError) -> AdvertisementID {
        let id = try advertiser.advertise(service)
        advertisementHandlers[id] = onEvent
        pump()
        return id
    }

    /// Claims a host name on all interfaces, or on those it names, until ``withdraw(_:)``.
    /// - Parameters:
    ///   - host: The host.
    ///   - onEvent: Called on the loop's thread for what becomes of it; may be called within this call.
    /// - Returns: What to change or withdraw it by.
    /// - Throws: What is wrong with it.
    @discardableResult
    public func advertise(
        _ host: HostRegistration,
        onEvent: @escaping (AdvertisementEvent) -> Void = { _ in }
    ) throws(RegistrationError) -> AdvertisementID {
        let id = try advertiser.advertise(host)
        advertisementHandlers[id] = onEvent
        pump()
        return id
    }

    /// Changes the text of an advertised service.
    /// - Throws: What is wrong with it.
    public func update(text: [TextRecord.Entry], of id: AdvertisementID) throws(RegistrationError) {
        try advertiser.update(text: text, of: id)
        pump()
    }

    /// Changes an advertised service in all but its name, type, host and interfaces.
    /// - Throws: What is wrong with it.
    public func update(_ service: ServiceRegistration, of id: AdvertisementID) throws(RegistrationError) {
        try advertiser.update(service, of: id)
        pump()
    }

    /// Applies the machine's new name; services that run on this machine move to it when it is theirs.
    func apply(hostName: String) {
        advertiser.apply(hostName: hostName)
        pump()
    }

    /// Which name was found free instead of one in use; it is tried first the next time (rule P12).
    ///
    /// It has grown when a ``Notice/nameConflict(_:)`` comes. Setting it adds what an earlier run remembered.
    public var rememberedNames: [DomainName: DomainName] {
        get { advertiser.memory }
        set { advertiser.recall(newValue) }
    }

    /// Ends an advertisement, and says goodbye to it.
    public func withdraw(_ id: AdvertisementID) {
        advertiser.withdraw(id)
        advertisementHandlers[id] = nil
        pump()
    }

    // MARK: - Internal

    func publishAll(on link: MulticastLink, _ family: AddressFamily, at now: Duration) {
        setAddresses(of: link, at: now)
        for set in advertiser.sets(on: link.index) {
            link.directory.zones[family]?.responder.publish(set, at: now)
        }
    }

    /// Passes the links to the advertiser, and their addresses to the zones.
    func announceLinks(at now: Duration) {
        for link in links.values { setAddresses(of: link, at: now) }
        advertiser.setInterfaces(links.mapValues { [$0.name] + $0.interface.alternativeNames })
        runAdvertiser(at: now)
    }

    private func setAddresses(of link: MulticastLink, at now: Duration) {
        let others = links.values.filter { $0.index != link.index }
        link.directory.setAddresses(
            link.interface.addresses.map(\.address),
            elsewhere: Set(others.flatMap { $0.interface.addresses.map(\.address) }),
            at: now
        )
    }

    /// Passes events between the zones' responders and the advertiser, and reports the results.
    func runAdvertiser(at now: Duration) {
        guard !advertiser.isEmpty || !advertisementHandlers.isEmpty else { return }
        for link in sortedLinks {
            for event in link.directory.drainResponderEvents() {
                advertiser.handle(event, on: link.name) { name in
                    links.values.contains { $0.directory.isClaimed(name, at: now) }
                }
            }
        }
        let commands = advertiser.drainCommands()
        // What is published is probed for, and its owner may answer by unicast.
        if !commands.isEmpty { followUnicast() }
        for command in commands { links[command.interface]?.directory.carryOut(command.action, at: now) }
        // What they bring is due at once.
        if !commands.isEmpty { mustPumpAgain = true }
        advertiser.reportRegistered { set in links.values.allSatisfy { $0.directory.isSettled(set) } }
        for conflict in advertiser.drainConflicts() { onNotice(.nameConflict(conflict)) }
        for event in advertiser.drainEvents() { advertisementHandlers[event.id]?(event) }
    }

    /// Says goodbye to all that is advertised; it stays on record for the next start.
    func sendGoodbyes(at now: Duration) {
        for link in sortedLinks {
            for set in advertiser.sets(on: link.index) { link.directory.carryOut(.withdraw(set.id), at: now) }
            send(link, at: now)
        }
    }
}
