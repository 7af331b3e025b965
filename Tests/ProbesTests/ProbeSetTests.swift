// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import PathModel
import TestSupport
import Testing

@testable import Probes

/// What a set told, in order.
private final class Diary {
    var finished: [(name: String, result: ProbeResult)] = []
    var transitions: [(name: String, transition: ProbeSchedule.Transition)] = []

    func take(_ event: ProbeSet.Event) {
        switch event {
        case .finished(let state, let result): finished.append((state.definition.name, result))
        case .transition(let state, let transition, _): transitions.append((state.definition.name, transition))
        case .answersAgain, .suspicious: break
        }
    }

    func count(_ name: String) -> Int { finished.count { $0.name == name } }

    func kinds(_ name: String) -> [String] {
        transitions.filter { $0.name == name }.map { entry in
            switch entry.transition {
            case .failed: "failed"
            case .recovered: "recovered"
            case .portalDetected: "detected"
            case .portalCleared: "cleared"
            }
        }
    }
}

@Suite(.inNamespace) struct ProbeSetTests {
    private static func probe(
        _ name: String,
        _ target: String,
        _ method: ProbeMethod = .icmp,
        interval: Duration = .seconds(1),
        threshold: Int = 2
    ) throws -> ProbeDefinition {
        ProbeDefinition(
            name: name,
            method: method,
            target: try #require(ProbeTarget(target, method: method)),
            interval: interval,
            timeout: .milliseconds(300),
            threshold: threshold
        )
    }

    private static func make(_ network: ProbeNetwork, _ gateways: [Gateway] = []) -> (ProbeSet, Diary) {
        let diary = Diary()
        let set = ProbeSet(loop: network.loop) { ProbeContext(gateways: gateways) }
        set.onEvent = { diary.take($0) }
        return (set, diary)
    }

    @Test func `runs each probe on its interval and keeps its figures`() async throws {
        let network = try ProbeNetwork()
        let (set, diary) = Self.make(network)
        set.setDefinitions([
            try Self.probe("good", ProbeNetwork.peer4), try Self.probe("closed", "192.0.2.2:9", .tcp),
            try Self.probe("rare", ProbeNetwork.peer6, interval: .seconds(3600)),
        ])
        await network.loop.eventually {
            diary.count("good") >= 3 && diary.count("closed") >= 3 && diary.count("rare") >= 1
        }
        let states = set.states
        #expect(states.map(\.definition.name) == ["good", "closed", "rare"])
        #expect(states[0].failures == 0 && states[0].attempts >= 3)
        #expect(states[0].history.lossPercent == 0)
        #expect(states[0].last?.isSuccess == true)
        #expect(states[1].failures == states[1].attempts)
        #expect(states[1].history.lossPercent == 100)
        #expect(states[1].last?.reason == .refused)
        #expect((1...2).contains(states[2].attempts), "once by itself, and once because another began to fail")
        #expect(diary.kinds("closed") == ["failed"])
        #expect(diary.kinds("good") == [])
        set.stop()
        #expect(set.states.isEmpty)
    }

    @Test func `a fault and its end are told`() async throws {
        let network = try ProbeNetwork()
        let gateway = Gateway(
            address: ScopedAddress(try #require(IPAddress(ProbeNetwork.peer4))),
            interface: "eth0",
            family: .ipv4
        )
        let (set, diary) = Self.make(network, [gateway])
        set.setDefinitions([try Self.probe("gateway", "gateway")])
        await network.loop.eventually { diary.count("gateway") == 1 }
        #expect(set.states[0].last?.isSuccess == true)
        try network.far.set("eth1", isUp: false)
        await network.loop.eventually { diary.kinds("gateway") == ["failed"] }
        #expect(set.states[0].schedule.isFailing)
        try network.far.set("eth1", isUp: true)
        await network.loop.eventually { diary.kinds("gateway") == ["failed", "recovered"] }
        #expect(!set.states[0].schedule.isFailing)
        set.stop()
    }

    @Test func `a probe that pauses sends nothing and keeps what is known`() async throws {
        let network = try ProbeNetwork()
        let (set, diary) = Self.make(network)
        let probe = try Self.probe("peer", ProbeNetwork.peer4)
        set.setDefinitions([probe])
        await network.loop.eventually { diary.count("peer") >= 2 }
        set.setDefinitions([probe], paused: ["peer"])
        let attempts = set.states[0].attempts
        #expect(!set.states[0].isRunning)
        await network.loop.sleep(for: .milliseconds(2500))
        #expect(set.states[0].attempts == attempts && set.states[0].last?.isSuccess == true)
        var other = probe
        other.threshold = 5
        set.setDefinitions([other])
        await network.loop.eventually { set.states[0].attempts > attempts }
        #expect(set.states[0].definition == other && set.states[0].history.summary != nil)
        set.stop()
    }

    @Test func `a probe that begins to fail, and one that answers again, has the others run at once`() async throws {
        let network = try ProbeNetwork()
        let (set, diary) = Self.make(network)
        set.setDefinitions([
            try Self.probe("often", ProbeNetwork.peer4),
            try Self.probe("rare", ProbeNetwork.peer4, interval: .seconds(3600)),
        ])
        await network.loop.eventually { diary.count("often") >= 2 && diary.count("rare") == 1 }
        try network.far.set("eth1", isUp: false)
        await network.loop.eventually { diary.kinds("often") == ["failed"] && diary.kinds("rare") == ["failed"] }
        // By itself it would be tested again after pauses that double.
        await network.loop.sleep(for: .seconds(8))
        try network.far.set("eth1", isUp: true)
        await network.loop.eventually { set.states.allSatisfy { $0.schedule.failingSince == nil } }
        let since = set.states.compactMap(\.schedule.answeringSince)
        #expect(since.count == 2 && since[1] - since[0] < .seconds(3))
        set.stop()
    }

    @Test func `a run is made at once when it is wished, and not twice`() async throws {
        let network = try ProbeNetwork()
        let (set, diary) = Self.make(network)
        set.setDefinitions([try Self.probe("web", ProbeNetwork.peer4, interval: .seconds(3600))])
        #expect(set.runNow("web") == .granted)
        await network.loop.eventually { diary.count("web") == 1 }
        guard case .tooSoon(let wait) = set.runNow("web") else {
            Issue.record("a second run was granted at once")
            return
        }
        #expect(wait > .zero && wait <= .seconds(1))
        await network.loop.sleep(for: wait + .milliseconds(5))
        #expect(set.runNow("web") == .granted)
        await network.loop.eventually { diary.count("web") == 2 }
        #expect(set.runNow("nothing") == nil)
        set.stop()
    }

    @Test func `a changed path is probed soon`() async throws {
        let network = try ProbeNetwork()
        let (set, diary) = Self.make(network)
        set.setDefinitions([try Self.probe("web", ProbeNetwork.peer4, interval: .seconds(3600))])
        _ = set.runNow("web")
        await network.loop.eventually { diary.count("web") == 1 }
        let start = network.loop.clock.boot
        set.pathChanged()
        await network.loop.eventually { diary.count("web") == 2 }
        #expect(network.loop.clock.boot - start < .seconds(30))
        set.stop()
    }

    @Test func `what stays in the configuration goes on, what changes begins anew, what goes is over`() async throws {
        let network = try ProbeNetwork()
        let (set, diary) = Self.make(network)
        let (kept, changed) = try (Self.probe("kept", ProbeNetwork.peer4), Self.probe("changed", ProbeNetwork.peer4))
        set.setDefinitions([kept, changed, try Self.probe("gone", "192.0.2.99")])
        await network.loop.eventually { diary.count("kept") >= 1 && diary.count("changed") >= 1 }
        let before = set.states
        set.setDefinitions([try Self.probe("changed", ProbeNetwork.peer6), kept])
        #expect(set.states.map(\.definition.name) == ["changed", "kept"])
        #expect(set.states[0].attempts == 0)
        #expect(set.states[1].attempts == before[0].attempts)
        let gone = diary.count("gone")
        await network.loop.eventually { diary.count("changed") > Int(before[1].attempts) }
        #expect(diary.count("gone") == gone)
        set.stop()
    }

    @Test func `nothing is done without probes`() async throws {
        let network = try ProbeNetwork()
        let (set, diary) = Self.make(network)
        set.pathChanged()
        #expect(set.states.isEmpty && set.runNow("x") == nil)
        set.setDefinitions([])
        #expect(diary.finished.isEmpty)
    }

    @Test func `what is going on when it stops is dropped`() async throws {
        let network = try ProbeNetwork()
        let (set, diary) = Self.make(network)
        set.setDefinitions([try Self.probe("silent", "192.0.2.99"), try Self.probe("web", "http://192.0.2.99/", .http)])
        _ = (set.runNow("silent"), set.runNow("web"))
        await network.loop.eventually { set.states.allSatisfy { $0.isRunning } || !diary.finished.isEmpty }
        let before = diary.finished.count
        set.stop()
        await network.loop.sleep(for: .milliseconds(400))
        #expect(diary.finished.count == before)
    }
}
