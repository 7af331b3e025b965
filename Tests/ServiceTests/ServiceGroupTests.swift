// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Documents
import EventHub
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

@testable import MulticastDNS
@testable import PathService

/// Services that are lost and found with their link.
@Suite struct ServiceGroupTests {
    /// What a limiter lets through.
    private enum Output: Equatable {
        case group(ServiceGroup)
        case event(ServiceEvent)
    }

    private struct Publisher {
        var limiter = ServiceEventLimiter()

        mutating func handle(_ events: [ServiceEvent] = [], at milliseconds: Int) -> [Output] {
            let now = Duration.milliseconds(milliseconds)
            for event in events { limiter.handle(event, at: now) }
            var outputs: [Output] = []
            while let group = limiter.nextGroup(at: now) {
                var sorted = group
                sorted.services.sort { $0.name < $1.name }
                outputs.append(.group(sorted))
            }
            while let update = limiter.next(at: now) { outputs.append(.event(update.event)) }
            return outputs
        }
    }

    private static func lost(_ services: [MulticastDNS.Service]) -> [ServiceEvent] {
        services.map { .removed($0, reason: .interfaceDown, seenFor: .seconds(1)) }
    }

    private static func census(
        of services: Int,
        added: Int = 0,
        on interfaces: [String] = ["eth0"]
    ) -> ServiceEvent {
        .censusCompleted(
            CensusSummary(
                duration: .seconds(4),
                types: 1,
                services: services,
                added: added,
                changed: 0,
                removed: 0,
                unresolved: 0,
                interfaces: interfaces
            )
        )
    }

    private static func group(
        _ services: [MulticastDNS.Service],
        isFound: Bool,
        types: [String] = ["_ipp._tcp"],
        isOfEarlierRun: Bool = false
    ) -> Output {
        .group(
            ServiceGroup(
                isFound: isFound,
                interface: "eth0",
                isOfEarlierRun: isOfEarlierRun,
                services: services,
                types: types
            )
        )
    }

    /// Five services that were published, with the census that found them.
    private static func published(_ publisher: inout Publisher) throws -> [MulticastDNS.Service] {
        let services = try (0..<5).map { try made("Lamp \($0)") }
        let found = [.typeAdded("_ipp._tcp")] + services.map { .added($0) } + [census(of: 5, added: 5)]
        #expect(publisher.handle(found, at: 0).count == 7)
        return services
    }

    @Test func `what goes and comes with its link is one record each way`() throws {
        var publisher = Publisher()
        let services = try Self.published(&publisher)
        #expect(publisher.handle(Self.lost(services) + [.typeRemoved("_ipp._tcp")], at: 10_000) == [])
        #expect(publisher.limiter.nextDeadline == .seconds(11) && publisher.limiter.isHolding)
        #expect(publisher.handle(at: 10_999) == [])
        #expect(publisher.handle(at: 11_000) == [Self.group(services, isFound: false)])
        #expect(publisher.limiter.nextDeadline == nil && !publisher.limiter.isHolding)
        #expect(publisher.handle([Self.census(of: 0, on: [])], at: 30_000) == [])
        let back: [ServiceEvent] = [.typeAdded("_ipp._tcp")] + services.dropLast().map { .added($0) }
        #expect(publisher.handle(back, at: 40_000) == [] && publisher.limiter.isHolding)
        #expect(publisher.handle([.added(services[4])], at: 40_500) == [Self.group(services, isFound: true)])
        #expect(publisher.handle([Self.census(of: 5, added: 5)], at: 44_000) == [])
        #expect(publisher.handle([Self.census(of: 5)], at: 104_000) == [])
    }

    @Test func `the first census of the link ends the group, and what is found later stands alone`() throws {
        var publisher = Publisher()
        let services = try Self.published(&publisher)
        _ = publisher.handle(Self.lost(services), at: 10_000)
        #expect(publisher.handle(at: 11_000).count == 1)
        #expect(publisher.handle(services[..<3].map { .added($0) }, at: 40_000) == [])
        let end = publisher.handle([Self.census(of: 3, added: 3)], at: 44_000)
        #expect(end == [Self.group(Array(services[..<3]), isFound: true, types: [])])
        #expect(publisher.handle([.added(services[3])], at: 70_000) == [.event(.added(services[3]))])
    }

    @Test func `a service that comes back different changed, and a new one is no part of the group`() throws {
        var publisher = Publisher()
        let services = try Self.published(&publisher)
        _ = publisher.handle(Self.lost(services), at: 10_000)
        _ = publisher.handle(at: 11_000)
        var moved = services[0]
        moved.port += 1
        let new = try made("Scanner")
        #expect(publisher.handle([.added(moved), .added(new)], at: 40_000) == [.event(.added(new))])
        let outputs = publisher.handle(services.dropFirst().map { .added($0) }, at: 41_000)
        #expect(
            outputs == [
                Self.group([moved] + services.dropFirst(), isFound: true, types: []),
                .event(.changed(moved, fields: [.port], previous: services[0])),
            ]
        )
    }

    @Test func `a goodbye is a record of its own, and what nobody learnt of is none`() throws {
        var publisher = Publisher()
        let services = try Self.published(&publisher)
        let goodbye = ServiceEvent.removed(services[0], reason: .goodbye, seenFor: .seconds(1))
        #expect(publisher.handle([goodbye], at: 10_000) == [.event(goodbye)])
        // A minute has not passed since it was published.
        #expect(publisher.handle([.added(services[0])], at: 11_000) == [])
        #expect(publisher.handle(Self.lost(services), at: 12_000) == [])
        #expect(publisher.handle(at: 13_000) == [Self.group(Array(services[1...]), isFound: false, types: [])])
        // One that leaves while the others are awaited is lost all the same.
        let leaving = ServiceEvent.removed(services[1], reason: .goodbye, seenFor: .zero)
        #expect(publisher.handle([.added(services[1]), .added(services[2]), leaving], at: 40_000) == [])
        let end = publisher.handle([Self.census(of: 1, added: 2)], at: 44_000)
        #expect(end == [Self.group([services[2]], isFound: true, types: [])])
    }

    @Test func `a link that goes twice loses what was not yet found again only once`() throws {
        var publisher = Publisher()
        let services = try Self.published(&publisher)
        _ = publisher.handle(Self.lost(services), at: 10_000)
        _ = publisher.handle(at: 11_000)
        #expect(publisher.handle([.added(services[0])], at: 40_000) == [])
        #expect(publisher.handle(Self.lost([services[0]]), at: 40_500) == [])
        #expect(publisher.handle(at: 42_000) == [] && publisher.limiter.nextDeadline == nil)
        #expect(
            publisher.handle(services.map { .added($0) }, at: 50_000) == [
                Self.group(services, isFound: true, types: [])
            ]
        )
    }

    @Test func `what an earlier run published and the first census finds is one record`() throws {
        var publisher = Publisher()
        let (known, new) = (try made("Lamp"), try made("Scanner"))
        publisher.limiter.expect(known.instance, on: "eth0")
        publisher.limiter.expect(try made("Gone").instance, on: "eth0")
        let found: [ServiceEvent] = [.typeAdded("_ipp._tcp"), .added(known)]
        #expect(publisher.handle(found, at: 0) == [])
        #expect(
            publisher.handle([Self.census(of: 1, added: 1)], at: 4000) == [
                Self.group([known], isFound: true, isOfEarlierRun: true)
            ]
        )
        #expect(publisher.handle([.added(new)], at: 5000) == [.event(.added(new))])
    }

    @Test func `a record has the first twenty names and the number of all`() throws {
        let services = try (0..<30).map { try made("Lamp \($0)") }
        let cause = EventCause(kind: "link").pointing(to: 45)
        let body = ServicesMoved(services, types: ["_ipp._tcp"], on: "eth0", isFound: false, cause: cause)
        #expect(body.message == "30 services lost with eth0")
        let record = try JSONValue(parsing: try OrderedJSONEncoder().encode(body))
        #expect(record["count"]?.int == 30 && record["names"]?.array?.count == 20)
        #expect(
            record["names"]?[1]?.string == "Lamp 1 (_ipp._tcp)" && record["names"]?[2]?.string == "Lamp 10 (_ipp._tcp)"
        )
        #expect(record["cause"]?["seq"]?.int == 45)
        let one = ServicesMoved([services[0]], types: [], on: "eth0", isFound: true, cause: cause)
        #expect(one.message == "Lamp 0 (_ipp._tcp) back on eth0")
    }
}
