// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import LinuxIO
import Metrics
import StatusServer
import TestSupport
import Testing

private final class ListeningRecord {
    var told: [Bool] = []
}

/// A server on a unix socket and a loopback port, with a fake daemon behind it.
final class ServerFixture {
    let loop: EventLoop
    let provider = FakeProvider()
    let registry = MetricRegistry()
    let server: StatusServer
    private let scratch: Scratch
    var path: String { scratch.file("socket") }
    private(set) var port: UInt16 = 0
    private let listening = ListeningRecord()
    /// Whether there was a listener to a stream, whenever that changed.
    var told: [Bool] { listening.told }

    init(_ change: (inout StatusServer.Configuration) -> Void = { _ in }) throws {
        loop = Namespace.current.loop
        var configuration = StatusServer.Configuration()
        change(&configuration)
        scratch = try Scratch()
        server = try StatusServer(
            loop: loop,
            provider: provider,
            registry: registry,
            configuration: configuration,
            onListening: { [listening] in listening.told.append($0) }
        )
        try server.listen(on: .unix(path: path))
        try server.listen(on: .tcp(ScopedAddress(.v4(0x7F00_0001)), port: 0))
        for case .tcp(_, let port) in server.addresses { self.port = port }
    }

    func client() throws -> RawClient { try RawClient(unix: path, loop: loop) }

    func tcpClient() throws -> RawClient { try RawClient(port: port, loop: loop) }

    /// Asks one question on a connection of its own.
    func get(_ target: String, fields: String = "", overTCP: Bool = false) async throws -> RawResponse {
        let client = overTCP ? try tcpClient() : try client()
        client.get(target, fields: fields)
        return try await client.response()
    }

    /// Opens an event stream and waits until it is there.
    func stream(
        _ target: String = "/api/v1/events",
        fields: String = "",
        overTCP: Bool = false
    ) async throws -> RawClient {
        let client = overTCP ? try tcpClient() : try client()
        client.get(target, fields: "Accept: text/event-stream\r\n\(fields)")
        await client.wait("the stream began") { $0.chunkedContent.hasPrefix("retry: 2000\n\n") }
        return client
    }

    /// Adds an event to the log and sends it.
    func publish(_ name: String = "path.changed", padding: Int = 0) {
        server.broadcast(provider.add(name, padding: padding))
    }

    var metrics: String { String(decoding: registry.scrape(), as: UTF8.self) }
}
