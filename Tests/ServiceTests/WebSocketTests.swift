// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import ServiceSupport
import TestSupport
import Testing

/// The real service and a WebSocket client of other make (Fixtures/event_socket.py).
@Suite(.inNamespace) struct WebSocketTests {
    private func client(_ check: String, _ service: Service, port: Int? = nil) throws -> RunningCommand {
        let words = [Place.fixtures + "/event_socket.py", check, service.scratch.path]
        let more = port.map { ["\($0)", "\(service.process.processID)"] } ?? []
        let inside = ["nsenter", "--net=\(Namespace.current.path)", try PythonEnvironment.python.get()]
        return try RunningCommand(inside + words + more, captures: true)
    }

    private func finish(_ client: RunningCommand) {
        let outcome = Service.outcome(of: client)
        #expect(outcome.code == 0, "\(outcome.output)")
    }

    private func opened(_ service: Service) async {
        await Namespace.current.loop.eventually("the client to listen") { service.scratch.exists("open") }
    }

    private func service(port: Int?) async throws -> Service {
        try Uplink.make()
        let scratch = try Scratch()
        let listen = port.map { ["--listen", "127.0.0.1:\($0)"] } ?? []
        return try await Service(listen + ["--listen", "unix:" + scratch.file("api.sock")], in: scratch)
    }

    @Test(arguments: [nil, 18_353] as [Int?])
    func `events come as the lines of the log, and again after a restart`(port: Int?) async throws {
        let service = try await service(port: port)
        let follower = try client("follow", service, port: port)
        await opened(service)
        try Uplink.connect()
        finish(follower)
        try Uplink.disconnect()
        try await service.eventually("path.changed", count: 2)
        finish(try client("resume", service, port: port))
    }

    @Test(arguments: [nil, 18_353] as [Int?])
    func `what cannot be is refused, and what a client may say is answered`(port: Int?) async throws {
        let service = try await service(port: port)
        finish(try client("refused", service, port: port))
        finish(try client("spoken", service, port: port))
        #expect(try service.code("/api/v1/events/ws") == "426")
    }

    @Test func `a service that stops says goodbye with 1001`() async throws {
        let service = try await service(port: nil)
        let listener = try client("closed", service)
        await opened(service)
        #expect(service.stop().code == 0)
        finish(listener)
    }

    @Test func `thirty clients that stop reading cost bounded memory and are dropped`() async throws {
        let service = try await service(port: 18_353)
        let load = try Uplink.load()
        finish(try client("stalled", service, port: 18_353))
        withExtendedLifetime(load) {}
    }
}
