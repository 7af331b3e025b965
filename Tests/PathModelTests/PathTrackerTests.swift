// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import TestSupport
import Testing

/// Publishing: never twice the same, exact differences, durations that add up (rules S41, S44).
@Suite struct PathTrackerTests {
    private let satisfied = World.ordinary().path()
    private let unsatisfied = World().path()

    @Test func `the first path is published without a previous one`() {
        var tracker = PathTracker()
        #expect(tracker.current == nil)
        let change = tracker.update(satisfied, at: .seconds(10))
        #expect(
            change
                == PathChange(
                    previous: nil,
                    current: satisfied,
                    changed: [],
                    previousDuration: .zero,
                    at: .seconds(10)
                )
        )
        #expect(tracker.current == satisfied)
        #expect(tracker.since == .seconds(10))
    }

    @Test func `an equal path is not published (lesson 14)`() {
        var tracker = PathTracker()
        _ = tracker.update(satisfied, at: .seconds(10))
        #expect(tracker.update(satisfied, at: .seconds(20)) == nil)
        #expect(tracker.since == .seconds(10))
    }

    @Test func `a change tells fields, previous path and its duration (S44)`() throws {
        var tracker = PathTracker()
        _ = tracker.update(satisfied, at: .seconds(10))
        let told = tracker.update(unsatisfied, at: .milliseconds(92554))
        let change = try #require(told)
        #expect(change.previous == satisfied)
        #expect(change.previousDuration == .milliseconds(82554))
        #expect(change.previous?.status != change.current.status)
        #expect(
            change.changed == [
                .status, .unsatisfiedReason, .interfaces, .supportsIPv4, .supportsIPv6, .gateways, .sources, .routes,
            ]
        )
        #expect(tracker.statusSince == .milliseconds(92554))
    }

    @Test func `a change without a new status does not end the state (lesson 25)`() {
        var tracker = PathTracker()
        _ = tracker.update(satisfied, at: .zero)
        var expensive = satisfied
        expensive.isExpensive = true
        let change = tracker.update(expensive, at: .seconds(5))
        #expect(change?.changed == [.isExpensive])
        #expect(tracker.statusSince == .zero)
        #expect(tracker.since == .seconds(5))
        #expect(tracker.transitions.isEmpty)
        #expect(tracker.time(in: .satisfied, at: .seconds(7)) == .seconds(7))
    }

    @Test func `the running state counts, and transitions are told apart`() {
        var tracker = PathTracker()
        #expect(tracker.time(in: .satisfied, at: .seconds(9)) == .zero)
        _ = tracker.update(satisfied, at: .seconds(10))
        _ = tracker.update(unsatisfied, at: .seconds(25))
        _ = tracker.update(satisfied, at: .seconds(70))
        _ = tracker.update(unsatisfied, at: .seconds(71))
        #expect(tracker.time(in: .satisfied, at: .seconds(80)) == .seconds(16))
        #expect(tracker.time(in: .unsatisfied, at: .seconds(80)) == .seconds(54))
        #expect(tracker.time(in: .requiresConnection, at: .seconds(80)) == .zero)
        #expect(
            tracker.transitions == [
                .init(from: .satisfied, to: .unsatisfied): 2, .init(from: .unsatisfied, to: .satisfied): 1,
            ]
        )
    }

    @Test func `a clock that goes back never makes negative times`() {
        var tracker = PathTracker()
        _ = tracker.update(satisfied, at: .seconds(10))
        #expect(tracker.update(unsatisfied, at: .seconds(5))?.previousDuration == .zero)
        #expect(tracker.time(in: .satisfied, at: .seconds(5)) == .zero)
        #expect(tracker.time(in: .unsatisfied, at: .seconds(4)) == .zero)
    }

    @Test func `in random sequences nothing repeats, differences are exact and times add up (lesson 25)`() {
        for seed in UInt64(0)..<40 {
            var random = SeededRandom(seed: seed)
            var tracker = PathTracker()
            var now: Duration = .seconds(100)
            var path = Path.random(using: &random)
            var published: [Path] = []
            var stood: Duration = .zero
            var transitions = 0
            _ = tracker.update(path, at: now)
            published.append(path)
            for _ in 0..<60 {
                now += .milliseconds(Int.random(in: 0...5000, using: &random))
                path = Bool.random(using: &random) ? path.varied(using: &random) : Path.random(using: &random)
                guard let change = tracker.update(path, at: now) else {
                    #expect(path == published.last)
                    continue
                }
                #expect(change.previous == published.last)
                #expect(change.current != change.previous)
                #expect(!change.changed.isEmpty)
                for field in PathField.allCases {
                    #expect(change.changed.contains(field) == field.differs(published[published.count - 1], path))
                }
                stood += change.previousDuration
                transitions += change.previous.map { $0.status != change.current.status } == true ? 1 : 0
                published.append(path)
            }
            #expect(stood + (now - tracker.since) == now - .seconds(100))
            let total = PathStatus.allCases.reduce(Duration.zero) { $0 + tracker.time(in: $1, at: now) }
            #expect(total == now - .seconds(100))
            #expect(tracker.transitions.values.reduce(0, +) == transitions)
            for (earlier, later) in zip(published, published.dropFirst()) { #expect(earlier != later) }
        }
    }

    @Test func `no field differs exactly when the paths are equal`() {
        var random = SeededRandom(seed: 99)
        for _ in 0..<3000 {
            let left = Path.random(using: &random)
            let right = Bool.random(using: &random) ? left.varied(using: &random) : Path.random(using: &random)
            #expect(PathField.differences(left, right).isEmpty == (left == right))
            #expect(PathField.allCases.contains { $0.differs(left, right) } == (left != right))
            #expect(PathField.differences(left, right) == PathField.differences(right, left))
        }
    }

    @Test func `fields have the names of the documents`() {
        #expect(
            PathField.allCases.map(\.rawValue) == [
                "status", "unsatisfied_reason", "interfaces", "is_expensive", "is_constrained", "is_ultra_constrained",
                "supports_ipv4", "supports_ipv6", "supports_dns", "gateways", "sources", "routes", "dns",
                "link_quality",
                "underlying_types", "warnings",
            ]
        )
    }

    @Test func `a default that is replaced within a burst is no change (S42)`() {
        var world = World.ordinary()
        var tracker = PathTracker()
        var debounce = DebounceState()
        _ = tracker.update(world.path(), at: .zero)
        world.removeRoutes("0.0.0.0/0")
        debounce.trigger(at: .milliseconds(1))
        world.route("0.0.0.0/0", "eth0", via: "192.0.2.1", metric: 100)
        debounce.trigger(at: .milliseconds(5))
        #expect(debounce.next(at: .milliseconds(105)) == .evaluate)
        #expect(tracker.update(world.path(), at: .milliseconds(105)) == nil)
    }
}
