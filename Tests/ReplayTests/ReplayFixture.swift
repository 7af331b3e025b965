// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import LinuxIO
import Netlink
import PathEngine
import PathService
import ServiceSupport
import TestSupport
import Testing

/// The recordings beside the tests.
enum ReplayFixture {
    static let names = [
        "admin-down", "advertisement-expires", "bridge-master", "carrier-loss", "container-churn", "dual-stack-loss",
        "failover", "last-address-deleted", "link-deleted", "multipath-leg-lost", "nexthop-deleted", "overrun",
        "preferred-route-link-down", "route-replaced", "rule-added", "traffic-cut",
    ]

    static var directory: String {
        let file = #filePath
        return file[..<(file.lastIndex(of: "/") ?? file.endIndex)] + "/Fixtures"
    }

    static func path(_ name: String) -> String { "\(directory)/\(name).rec" }

    static func recording(_ name: String) throws -> NetlinkRecording { try NetlinkRecording(path: path(name)) }

    /// The lines of the summary beside a recording.
    static func expected(_ name: String) throws -> [String] {
        try text("\(directory)/\(name).events").split(separator: "\n").map(String.init)
    }

    static func text(_ path: String) throws -> String {
        let file = try FileDescriptor(opening: path, flags: 0)
        var bytes: [UInt8] = []
        while true {
            let chunk = try file.read(upTo: 65_536)
            if chunk.isEmpty { return String(decoding: bytes, as: UTF8.self) }
            bytes += chunk
        }
    }
}

/// `nwpath replay` as users run it.
enum ReplayCommand {
    static func run(_ words: [String]) throws -> (text: String, code: Int32) {
        do {
            return (LiveJSON.check(try Command.run([try BuiltProgram.path(), "replay"] + words)), 0)
        } catch let failure as CommandFailure {
            return (LiveJSON.check(failure.output), failure.code)
        }
    }
}

/// What a replay publishes.
final class ReplayOutput {
    let engine: ReplayEngine
    private(set) var updates: [EngineUpdate] = []
    private(set) var events: [Event] = []
    private(set) var advances: [Duration] = []

    /// Replays to the end.
    init(_ recording: NetlinkRecording, settings: EngineSettings = EngineSettings()) throws {
        let engine = ReplayEngine(recording, settings: settings)
        self.engine = engine
        let position = StreamID("00000000").map { EventPosition(stream: $0, sequence: 0) }
        let hub = EventHub(EventHub.Options(host: "replay"), after: position, clock: engine.clock)
        let publisher = UpdatePublisher(hub: hub)
        hub.addSink { [unowned self] in events.append($0) }
        engine.onUpdate = { [unowned self] update in
            updates.append(update)
            publisher.publish(update)
        }
        engine.onResync = { [unowned engine] found in
            publisher.publishResync(total: engine.overruns, duration: .zero, found: found)
        }
        let traffic = TrafficReplay(engine, hub: hub)
        engine.onStep = { traffic.follow($0) }
        engine.onAdvance = { [unowned self] in advances.append($0) }
        try engine.run()
    }

    /// The output as `nwpath replay` prints it.
    var lines: [UInt8] { events.flatMap(\.line) }
}
