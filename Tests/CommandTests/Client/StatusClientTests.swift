// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import CLinuxShims
import Glibc
import LinuxIO
import TestSupport
import Testing

@testable import nwpath

@Suite struct StatusClientTests {
    private func client(_ server: BackgroundServer) -> StatusClient { StatusClient(.unix(path: server.path)) }

    @Test func `fetches a document over the unix socket`() async throws {
        let server = try BackgroundServer()
        try await server.start()
        let response = try client(server).get("/api/v1/status")
        #expect(response.status == 200)
        #expect(response.text == "{\"status\":1}\n")
        #expect(response.fields["etag"] == "\"7f3a.1\"")
        let same = try client(server).get("/api/v1/status", fields: [("If-None-Match", "\"7f3a.1\"")], accepting: [304])
        #expect(same.status == 304)
        let large = try client(server).get("/api/v1/interfaces")
        #expect(large.body.count == 3_000_000)
        try await server.stop()
    }

    @Test func `takes a 503 as an answer where that is one`() async throws {
        let server = try BackgroundServer()
        try await server.start()
        let response = try client(server).get("/api/v1/paths/default/satisfied", accepting: [503])
        #expect(response.status == 503)
        #expect(response.text == "false\n")
        try await server.stop()
    }

    @Test func `hands on the detail of a problem`() async throws {
        let server = try BackgroundServer()
        try await server.start()
        let unknown = #expect(throws: StatusClientError.self) { try client(server).get("/api/v1/paths/nope") }
        let detail = "There is no monitor 'nope'."
        #expect(unknown == .problem(status: 404, type: "/problems/unknown-monitor", detail: detail))
        let unready = #expect(throws: StatusClientError.self) { try client(server).get("/-/ready") }
        #expect(unready?.description == "the first \"dump\" is not read")
        let reload = #expect(throws: StatusClientError.self) { try client(server).post("/-/reload") }
        #expect(reload?.description == "nwpath.yaml:1:1: unknown key 'ä'")
        try await server.stop()
    }

    @Test func `reads a stream line by line until it has enough`() async throws {
        let server = try BackgroundServer()
        try await server.start()
        var lines: [String] = []
        let wasStopped = try client(server).stream("/api/v1/events?since=0") { line in
            lines.append(line)
            return lines.count < 3
        }
        #expect(wasStopped)
        #expect(lines == ["{\"seq\":1}", "{\"seq\":2}", "{\"seq\":3}"])
        let error = #expect(throws: StatusClientError.self) {
            try client(server).stream("/api/v1/events?since=x") { _ in true }
        }
        #expect(error?.description.contains("expected an event id") == true)
        try await server.stop()
    }

    @Test func `names the socket that nobody serves`() {
        let path = "/nonexistent/api.sock"
        let error = #expect(throws: StatusClientError.self) {
            try StatusClient(.unix(path: path)).get("/api/v1/status")
        }
        guard case .notReachable("unix:\(path)", _) = error else { return #expect(error == nil) }
        #expect(error?.description.contains("systemctl status nwpath") == true)
    }

    @Test func `names the URL that nobody serves`() {
        let client = StatusClient(.url("http://127.0.0.1:1/"))
        let error = #expect(throws: StatusClientError.self) { try client.get("/api/v1/status") }
        guard case .notReachable("http://127.0.0.1:1/", _) = error else { return #expect(error == nil) }
    }

    @Test func `gives up on a daemon that does not answer`() throws {
        let scratch = try Scratch()
        let path = scratch.file("socket")
        let listener = FileDescriptor(owning: unsafe nwp_unix_listen(path, 0o600, 4))
        let client = StatusClient(.unix(path: path), timeout: .milliseconds(50))
        #expect(throws: StatusClientError.timedOut(endpoint: "unix:\(path)")) { try client.get("/api/v1/status") }
        _ = listener.rawValue
    }

    @Test func `refuses other schemes than HTTP`() {
        let error = #expect(throws: StatusClientError.self) { try StatusClient(.url("file://")).get("/etc/passwd") }
        guard case .failed = error else { return #expect(error == nil) }
    }
}
