// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import Netlink
internal import PathModel

/// What nl80211 reported, and what is still to be requested: one dump at a time, because the kernel refuses a second one.
///
/// A dump of the interfaces is followed by one of each client's access point, which is small. The results of the scan,
/// which have the network's name and are large, are requested only when an access point is another one.
struct WirelessTable: Equatable {
    enum Request: Hashable {
        /// `NL80211_CMD_GET_INTERFACE` (5): all interfaces.
        case interfaces
        /// `NL80211_CMD_GET_STATION` (17): the access point an interface is connected to.
        case station(index: Int)
        /// `NL80211_CMD_GET_SCAN` (32): the networks an interface has found, the one it is connected to among them.
        case networks(index: Int)

        /// The dump that answers it.
        func question(family: UInt16) -> Question {
            switch self {
            case .interfaces: Question(family: family, command: 5, isDump: true)
            case .station(let index): Self.dump(17, of: index, family: family)
            case .networks(let index): Self.dump(32, of: index, family: family)
            }
        }

        private static func dump(_ command: UInt8, of index: Int, family: UInt16) -> Question {
            var question = Question(family: family, command: command, isDump: true)
            question.add(3, UInt32(truncatingIfNeeded: index))
            return question
        }
    }

    struct Outcome: Equatable {
        /// Whether ``interfaces`` are others now.
        var isChanged = false
        /// Whether the request is answered, so that the next one may be sent.
        var isFinished = false
        /// Why the interfaces were not reported.
        var refusal: Errno?
    }

    /// What an interface's association rests on, besides its facts.
    private struct Client: Equatable {
        var admission = WirelessAdmission()
        /// The address of the station entry whose network is known: that of a multi-link device differs from its BSSID.
        var station: [UInt8]?
        /// How often its network was not among the scan's results, which may follow the association.
        var misses = 0
        /// The network it was last associated with.
        var previous: WirelessNetwork?
        /// When that association ended, as time since boot, and whether in favour of another access point; `nil` while
        /// it lasts.
        var loss: Loss?

        /// A loss has a frame and an event, of which the event says that it is a change.
        mutating func note(_ loss: Loss) {
            let isChange = loss.isChange || self.loss.map { $0.isChange && loss.at - $0.at < .seconds(1) } ?? false
            self.loss = Loss(at: loss.at, isChange: isChange)
        }

        /// Whether another access point is a roam now, rather than a new connection.
        func isRoaming(at now: Duration) -> Bool {
            loss.map { $0.isChange && now - $0.at <= WirelessTable.longestRoam } ?? true
        }
        /// The access point that refused it, whose name the scan's results have.
        var refusing: [UInt8]?
        /// When the last attempt at an association was seen, as time since boot.
        var lastAttempt: Duration?
    }

    private struct Loss: Equatable {
        var at: Duration
        var isChange: Bool
    }

    /// How often the scan's results are read again in vain: some drivers never mark the network in use.
    static let mostMisses = 5
    /// How many interfaces are kept.
    static let limit = 1024
    /// How long a refusal says something after the last attempt.
    static let refusalMemory = Duration.seconds(120)
    /// How long a station may be without an access point before the next one.
    static let longestRoam = Duration.seconds(3)

    private(set) var interfaces: [Int: WirelessFacts] = [:]
    /// What clients counted, which changes with every reading.
    private(set) var counters: [Int: RadioCounters] = [:]
    private var clients: [Int: Client] = [:]
    private var waiting: [Request] = []
    private var current: Request?
    private var sequence: UInt32 = 0
    private var found: [Int: WirelessFacts] = [:]
    private var foundStation: WirelessStation?
    private var foundNetworks: [WirelessNetwork] = []

    /// Notes a request; one that already waits is sent once.
    mutating func enqueue(_ request: Request) {
        if !waiting.contains(request) && waiting.count < Self.limit { waiting.append(request) }
    }

    /// The next request to send; `nil` while one is being answered, or when there is none.
    mutating func next() -> Request? {
        guard current == nil, !waiting.isEmpty else { return nil }
        current = waiting.removeFirst()
        (found, foundStation, foundNetworks) = ([:], nil, [])
        return current
    }

    /// The request was sent under this number, which its answers carry.
    mutating func sent(_ sequence: UInt32) { self.sequence = sequence }

    /// Forgets all requests, such as after an overrun or a failed send.
    mutating func forgetQuestions() {
        current = nil
        waiting = []
    }

    /// Forgets everything: the family was removed.
    mutating func removeAll() { self = WirelessTable() }

    /// The requests of a sample of the signal.
    var stations: [Request] {
        interfaces.filter { $0.value.isStation }.keys.sorted().map { .station(index: $0) }
    }

    /// Whether a client waits for its access point to let data pass, or its network is still to be found.
    var isWaiting: Bool {
        interfaces.contains { $0.value.isStation && ($0.value.isAuthorized == false || isUnnamed($0.key)) }
    }

    /// Whether the network of an association was not found yet, and is to be requested again.
    private func isUnnamed(_ index: Int) -> Bool {
        guard let client = clients[index], client.station != nil else { return false }
        return (1...Self.mostMisses).contains(client.misses)
    }

    /// Whether a client has an access point, whose signal is worth a timer.
    var isAssociated: Bool {
        interfaces.contains { $0.value.isStation && ($0.value.isAssociated || clients[$0.key]?.station != nil) }
    }

    /// Applies an event that was received at `now`, the time since boot.
    /// - Returns: Whether ``interfaces`` are others now.
    mutating func apply(_ event: WirelessEvent, at now: Duration) -> Bool {
        guard let facts = interfaces[event.index], facts.isStation else { return false }
        var client = clients[event.index] ?? Client()
        client.admission.apply(event.kind, at: now)
        if event.kind != .other { client.lastAttempt = now }
        switch event.kind {
        case .lost(_, let isChange, _):
            client.note(Loss(at: now, isChange: isChange))
            interfaces[event.index]?.isAuthorized = nil
        case .connected(status: 0): interfaces[event.index]?.isAuthorized = nil
        default: break
        }
        if client.admission.isRefused, facts.refusal == nil {
            client.refusing = event.bssid
            // The name of another one than it was associated with is in the scan's results.
            let isOurs = event.bssid == nil || event.bssid == facts.bssid
            let name = isOurs ? facts.ssid : nil
            if name == nil { enqueue(.networks(index: event.index)) }
            interfaces[event.index]?.refusal = WirelessFacts.Refusal(ssid: name)
        }
        clients[event.index] = client
        if event.kind == .authorized { accept(event.index) }
        return interfaces[event.index] != facts
    }

    /// The interface was set down: what refused it may accept it the next time.
    /// - Returns: Whether ``interfaces`` are others now.
    mutating func setDown(_ index: Int) -> Bool {
        let hasRefusal = interfaces[index]?.refusal != nil
        accept(index)
        return hasRefusal
    }

    private mutating func accept(_ index: Int) {
        clients[index]?.admission = WirelessAdmission()
        clients[index]?.refusing = nil
        interfaces[index]?.refusal = nil
    }

    // MARK: - Answers

    mutating func receive(_ message: GenericMessage, at now: Duration) -> Outcome {
        guard let current, message.sequence == sequence else { return Outcome() }
        guard message.type == GenericMessage.doneType || message.type == GenericMessage.errorType else {
            collect(message, for: current)
            return Outcome()
        }
        self.current = nil
        // The end of a dump has the error of a driver that could not answer it.
        let isDone = message.type == GenericMessage.doneType && (message.code ?? 0) == 0
        switch current {
        case .interfaces:
            // An error says nothing about the interfaces.
            guard isDone else { return Outcome(isFinished: true, refusal: Errno(message.code ?? 0)) }
            return Outcome(isChanged: replace(), isFinished: true)
        case .station(let index): return Outcome(isChanged: isDone && finishStation(index, at: now), isFinished: true)
        case .networks(let index): return Outcome(isChanged: isDone && finishNetworks(index, at: now), isFinished: true)
        }
    }

    private mutating func collect(_ message: GenericMessage, for request: Request) {
        switch request {
        case .interfaces:
            if let (index, facts) = WirelessMessage.interface(message), found.count < Self.limit {
                found[index] = facts
            }
        case .station(let client):
            if let (index, station) = WirelessMessage.station(message), index == client { foundStation = station }
        case .networks(let client):
            guard let (index, network) = WirelessMessage.network(message), index == client,
                network.isAssociated || network.bssid == clients[index]?.refusing,
                foundNetworks.count < Self.limit
            else { return }
            foundNetworks.append(network)
        }
    }

    /// Applies the interfaces of a finished dump, and requests the access points of clients.
    ///
    /// What is known of an association outlives the dump; the answers about the access point say whether it lasts.
    private mutating func replace() -> Bool {
        for (index, new) in found {
            guard let known = interfaces[index], known.mode == new.mode else {
                clients[index] = nil
                continue
            }
            var facts = known
            if let ssid = new.ssid { (facts.ssid, facts.network) = (ssid, ssid) }
            if let frequency = new.frequency { facts.frequency = frequency }
            found[index] = facts
        }
        clients = clients.filter { found[$0.key] != nil }
        counters = counters.filter { found[$0.key] != nil }
        defer { interfaces = found }
        let isChanged = interfaces != found
        for (index, facts) in found.sorted(by: { $0.key < $1.key }) where facts.isStation {
            enqueue(.station(index: index))
        }
        return isChanged
    }

    /// Applies what the kernel knows of the access point of an interface; without one it is not associated.
    private mutating func finishStation(_ index: Int, at now: Duration) -> Bool {
        guard let before = interfaces[index] else { return false }
        var facts = before
        facts.signal = foundStation?.signal
        facts.receiveRate = foundStation?.receiveRate
        facts.transmitRate = foundStation?.transmitRate
        facts.isAuthorized = foundStation?.isAuthorized
        counters[index] = foundStation?.counters
        if let station = foundStation {
            if clients[index, default: Client()].station != station.address {
                clients[index, default: Client()].station = station.address
                clients[index, default: Client()].misses = 0
                enqueue(.networks(index: index))
            } else if isUnnamed(index) {
                enqueue(.networks(index: index))
            }
        } else {
            (facts.ssid, facts.bssid, facts.frequency) = (nil, nil, nil)
            clients[index]?.station = nil
        }
        interfaces[index] = facts
        clients[index]?.admission.read(facts.isAuthorized)
        let isOld = clients[index]?.lastAttempt.map { now - $0 > Self.refusalMemory } ?? false
        if facts.isAuthorized == true || isOld && facts.refusal != nil { accept(index) }
        return interfaces[index] != before
    }

    /// Applies the network that the scan's results say an interface is associated with.
    private mutating func finishNetworks(_ index: Int, at now: Duration) -> Bool {
        guard let before = interfaces[index] else { return false }
        if let refusing = clients[index]?.refusing, before.refusal?.ssid == nil,
            let network = foundNetworks.first(where: { $0.bssid == refusing })
        {
            interfaces[index]?.refusal?.ssid = network.ssid
        }
        if let network = foundNetworks.first(where: \.isAssociated), clients[index]?.station != nil {
            if let client = clients[index], let previous = client.previous, previous.bssid != network.bssid,
                previous.ssid == network.ssid, client.isRoaming(at: now)
            {
                interfaces[index]?.roams += 1
                interfaces[index]?.roamedFrom = previous.bssid
            }
            clients[index]?.previous = network
            clients[index]?.misses = 0
            clients[index]?.loss = nil
            // A hidden network's beacon has no name.
            if let name = network.ssid {
                interfaces[index]?.ssid = name
                interfaces[index]?.network = name
            }
            interfaces[index]?.bssid = network.bssid
            interfaces[index]?.frequency = network.frequency
            // Another network than the one that refuses says nothing about that one, and is the one that matters.
            if let refused = before.refusal?.ssid, let name = network.ssid, refused != name { accept(index) }
        } else {
            clients[index]?.misses += 1
        }
        return interfaces[index] != before
    }
}
