// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import EventHub
import Glibc
import LinuxIO
import Metrics
import OrderedJSON
import StatusServer
import TestSupport

/// A server on a loop of its own, so that a test may block.
final class BackgroundServer: Sendable {
    private let scratch: Scratch
    var path: String { scratch.file("socket") }
    private let namespace: Namespace
    /// Touched on the namespace's loop only.
    private nonisolated(unsafe) var server: StatusServer?
    private nonisolated(unsafe) var provider: SmallProvider?

    init() throws {
        namespace = try Namespace()
        scratch = try Scratch()
    }

    /// Starts serving.
    func start() async throws {
        try await onLoop { [self] in
            let provider = SmallProvider()
            let server = try StatusServer(loop: namespace.loop, provider: provider, registry: MetricRegistry())
            try server.listen(on: .unix(path: path))
            unsafe self.provider = provider
            unsafe self.server = server
        }
    }

    /// Ends the server and frees its socket.
    func stop() async throws {
        try await onLoop { [self] in
            unsafe server?.stop(within: .milliseconds(10)) {}
            unsafe server = nil
        }
    }

    private func onLoop(_ work: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            namespace.loop.perform { continuation.resume(with: Swift.Result { try work() }) }
        }
    }
}

/// A daemon with three events.
final class SmallProvider: StatusProviding {
    var health: Readiness { .ready }
    var readiness: Readiness { .notReady(reason: "the first \"dump\" is not read") }
    var forms: [Form] { [] }
    var position: EventPosition { place(3) }
    private let hub = EventHub(EventHub.Options(host: "edge"))

    private func place(_ sequence: UInt64) -> EventPosition {
        EventPosition(stream: hub.position.stream, sequence: sequence)
    }

    func snapshot(of document: StatusDocument) -> Snapshot? {
        switch document {
        case .status: Snapshot(Array("{\"status\":1}\n".utf8), tag: "7f3a.1")
        case .interfaces: Snapshot(Array(repeating: UInt8(ascii: "x"), count: 3_000_000), tag: "big")
        default: nil
        }
    }

    func notice(_ body: some EventBody) -> EventRecord { hub.notice(body).record }

    func isSatisfied(monitor: String) -> Bool? { monitor == "default" ? false : nil }

    func badge(of monitor: String) -> BadgeState? { nil }

    func events(after sequence: UInt64, limit: Int) -> EventReplay {
        guard sequence < 3 else { return .events([]) }
        return .events(
            ((sequence + 1)...3).map {
                EventRecord(position: place($0), name: "x", line: Array("{\"seq\":\($0)}\n".utf8))
            }
        )
    }

    func sequence(olderThan age: Duration) -> UInt64? { 0 }

    func archive(
        from place: EventPlace,
        where isWanted: @escaping @Sendable (String) -> Bool
    ) throws -> any EventArchive {
        throw Problem(.sinceTooOld, status: 410, detail: "Nothing is archived.")
    }

    func history(_ request: HistoryRequest) -> [UInt8] { Array("{}\n".utf8) }

    func leastProbeStep(since: WallTime) -> Duration { .seconds(1) }

    func probeHistory(_ name: String, since: WallTime, until: WallTime, step: Duration) -> [UInt8]? { nil }

    func reload() throws -> [UInt8] {
        throw Problem(.configInvalid, status: 400, detail: "nwpath.yaml:1:1: unknown key 'ä'")
    }

    func startProbe(_ name: String) -> RunStart? { nil }

    func startDiagnosis() -> RunStart { .started }

    func internalError(_ error: any Error, instance: String) {}
}
