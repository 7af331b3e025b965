// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire

@testable import MulticastDNS

/// Machines of one host name that power up together on a link, and somebody who browses, in a time of their own.
///
/// Deterministic: everything follows from the seed. What a machine's service is called, or its port, tells an observer
/// whose it is.
struct Crowd {
    enum Services: Sendable {
        case distinct
        /// All of one name, and each with a port of its own.
        case ofOneName
        /// All the same, as of machines with one image.
        case alike
    }

    struct Options: Sendable {
        var machines = 2
        /// The share of packets that get lost, for each receiver.
        var loss = 0.0
        var seed: UInt64 = 1
        var families: [AddressFamily] = [.ipv4]
        var services = Services.distinct
        /// Within which time they power up.
        var spread = 0.05
    }

    struct Machine {
        var directory: LinkDirectory
        var advertiser = Advertiser(hostName: "raspberrypi")
        let addresses: [IPAddress]
        let powersUp: Duration
        var isUp = false
        /// Whether it heard something that it has not acted upon.
        var isStirred = false
        var service: AdvertisementID?
        var port = Crowd.firstPort
    }

    private struct Packet {
        let due: Duration
        let family: AddressFamily
        let bytes: [UInt8]
        let source: IPAddress
        let receiver: Int
    }

    static let firstPort: UInt16 = 600
    private(set) var machines: [Machine] = []
    private(set) var observer: LinkDirectory
    /// When a service was shown at an address that is not its machine's, and what was shown.
    private(set) var wrong: [(time: Double, service: Service)] = []
    /// Services that left the observer's list.
    private(set) var lost: [(time: Double, name: String)] = []
    /// Names that were given up, and whether they were established and nobody else ever claimed them before.
    private(set) var givenUp: [(time: Double, machine: Int, name: DomainName, wasOwn: Bool)] = []
    private(set) var sent = 0
    /// Since when all machines are shown rightly.
    private(set) var settledSince: Double?
    private var packets: [Packet] = []
    private var established: [Int: Set<DomainName>] = [:]
    private var claimants: [DomainName: Set<Int>] = [:]
    private var random: RandomSource
    private var now = time(0)
    private let options: Options

    init(_ options: Options) {
        self.options = options
        random = RandomSource(seed: options.seed)
        observer = LinkDirectory(index: 1, name: "w", settings: .init(), random: RandomSource(seed: ~options.seed))
        for family in options.families { observer.open(family, mtu: 1500, at: now) }
        observer.add(Subscription(pointers: [DomainName("_ipp._tcp.local") ?? DomainName()]), of: 1, at: now)
        for index in 0..<options.machines {
            let seed = random.next()
            let later = Int.random(in: 0...max(1, Int(options.spread * 1000)), using: &random)
            machines.append(
                Machine(
                    directory: LinkDirectory(index: 1, name: "eth0", settings: .init(), random: .init(seed: seed)),
                    addresses: options.families.map { Self.address(of: index, $0) },
                    powersUp: time(1) + .milliseconds(later)
                )
            )
        }
    }

    static func address(of machine: Int, _ family: AddressFamily) -> IPAddress {
        switch family {
        case .ipv4: .v4(0x0A09_0001 + UInt32(machine))
        case .ipv6: .v6(0xFE80 << 112 | 0x1000 + UInt128(machine))
        }
    }

    /// What was shown wrongly.
    var summary: String {
        wrong.map { "\($0.time): \($0.service.name) at \($0.service.addresses)" }.joined(separator: ", ")
    }

    var seconds: Double { (now - time(0)) / .seconds(1) - 1 }

    /// Lets everybody act until so many seconds after the first machine powered up.
    mutating func run(to seconds: Double) {
        while let next = nextDeadline, next <= time(seconds + 1) {
            now = max(now, next)
            deliver()
            for index in machines.indices { act(index) }
            observer.advance(to: now)
            for (family, packets) in observer.packets(at: now) {
                for packet in packets { send(packet, family, from: nil) }
            }
            observe()
        }
        now = time(seconds + 1)
    }

    private var nextDeadline: Duration? {
        let deadlines = machines.map { $0.isUp ? $0.directory.nextDeadline : $0.powersUp }
        return (deadlines + [observer.nextDeadline] + packets.map(\.due)).compactMap(\.self).min()
    }

    // MARK: - Machines

    private mutating func act(_ index: Int) {
        if !machines[index].isUp, machines[index].powersUp <= now { powerUp(index) }
        guard machines[index].isUp else { return }
        guard machines[index].isStirred || machines[index].directory.nextDeadline.map({ $0 <= now }) == true else {
            return
        }
        machines[index].isStirred = false
        repeat {
            machines[index].directory.advance(to: now)
            for (family, packets) in machines[index].directory.packets(at: now) {
                for packet in packets { send(packet, family, from: index) }
            }
        } while advertise(index)
    }

    private mutating func powerUp(_ index: Int) {
        (machines[index].isUp, machines[index].isStirred) = (true, true)
        for family in options.families { machines[index].directory.open(family, mtu: 1500, at: now) }
        machines[index].directory.setAddresses(machines[index].addresses, elsewhere: [], at: now)
        machines[index].advertiser.setInterfaces([1: ["eth0"]])
        let label = options.services == .distinct ? "Printer-\(index)" : "Printer"
        if options.services != .alike { machines[index].port += UInt16(index) }
        let port = machines[index].port
        let service = ServiceRegistration(name: Array(label.utf8), type: "_ipp._tcp", port: port)
        machines[index].service = try? machines[index].advertiser.advertise(service)
    }

    /// Carries news between the responders and the advertiser, as an engine does.
    /// - Returns: Whether there is more to be sent.
    private mutating func advertise(_ index: Int) -> Bool {
        for event in machines[index].directory.drainResponderEvents() {
            note(event, of: index)
            let (directory, now) = (machines[index].directory, now)
            machines[index].advertiser.handle(event, on: "eth0") { directory.isClaimed($0, at: now) }
        }
        let commands = machines[index].advertiser.drainCommands()
        for command in commands { machines[index].directory.carryOut(command.action, at: now) }
        _ = machines[index].advertiser.drainEvents()
        _ = machines[index].advertiser.drainConflicts()
        return !commands.isEmpty
    }

    private mutating func note(_ event: ResponderEvent, of index: Int) {
        switch event {
        case .established(let id):
            guard let name = machines[index].advertiser.name(of: AdvertisementID(rawValue: id.rawValue)) else { return }
            established[index, default: []].insert(name)
            claimants[name, default: []].insert(index)
        case .conflict(_, let name, _):
            let isOwn = established[index]?.contains(name) == true && claimants[name] == [index]
            givenUp.append((seconds, index, name, isOwn))
            established[index]?.remove(name)
        case .yielded: break
        }
    }

    // MARK: - Wire

    private mutating func send(_ packet: OutgoingPacket, _ family: AddressFamily, from sender: Int?) {
        sent += 1
        let source = Self.address(of: sender ?? options.machines + 7, family)
        for receiver in 0...options.machines where receiver != sender ?? options.machines {
            guard Double.random(in: 0..<1, using: &random) >= options.loss else { continue }
            let due = now + .microseconds(Int.random(in: 50...900, using: &random))
            packets.append(
                Packet(due: due, family: family, bytes: packet.bytes, source: source, receiver: receiver)
            )
        }
    }

    private mutating func deliver() {
        let due = packets.filter { $0.due <= now }.sorted { $0.due < $1.due }
        packets.removeAll { $0.due <= now }
        for packet in due {
            let origin = PacketOrigin(source: packet.source, port: 5353)
            if packet.receiver == options.machines {
                _ = observer.receive(packet.bytes.span, packet.family, from: origin, at: now)
            } else if machines[packet.receiver].isUp {
                machines[packet.receiver].isStirred = true
                _ = machines[packet.receiver].directory.receive(packet.bytes.span, packet.family, from: origin, at: now)
            }
        }
    }

    // MARK: - Observer

    private func isRight(_ service: Service) -> Bool {
        machines.contains { machine in
            service.addresses.allSatisfy { machine.addresses.contains($0.address) }
                && machine.service.flatMap(machine.advertiser.name) == service.instance
                && machine.port == service.port
        }
    }

    private mutating func observe() {
        for event in observer.drainEvents() {
            switch event {
            case .resolved(let service), .changed(let service, _, _):
                if !isRight(service) { wrong.append((seconds, service)) }
            case .removed(let service, _, _): lost.append((seconds, service.name))
            default: break
            }
        }
        let right = Set(observer.services.filter(isRight).map(\.instance))
        let isSettled = right.count == options.machines && observer.services.count == options.machines
        settledSince = isSettled ? settledSince ?? seconds : nil
    }
}
