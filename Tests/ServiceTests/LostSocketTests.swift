// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import TestSupport
import Testing

/// The running service finds that the file of its socket is gone.
@Suite(.inNamespace) struct LostSocketServiceTests {
    @Test func `a socket whose directory was removed is back after an audit, with it`() async throws {
        let scratch = try Scratch()
        let path = scratch.file("run/nwpath.sock")
        try scratch.write("audit_interval: 1s\n", to: "nwpath.yaml")
        let sockets = [scratch.file("api.sock"), path].flatMap { ["--listen", "unix:\($0)"] }
        let service = try await Service(["--config", scratch.file("nwpath.yaml")] + sockets, in: scratch)
        try Command.run(["rm", "-r", scratch.file("run")])
        await Namespace.current.loop.eventually("the socket") {
            let words = ["curl", "-s", "--max-time", "60", "--unix-socket", path, "http://localhost/-/ready"]
            return (try? Command.run(words)) == "ok\n"
        }
        #expect(try Command.run(["stat", "-c", "%a %F", path]) == "660 socket\n")
        #expect(service.stop().code == 0)
    }

    @Test func `a socket whose file was removed is back after an audit`() async throws {
        let scratch = try Scratch()
        try scratch.write("audit_interval: 1s\n", to: "nwpath.yaml")
        let service = try await Service(["--config", scratch.file("nwpath.yaml")], in: scratch)
        try Command.run(["rm", service.socket])
        try await service.wait()
        #expect(try Command.run(["stat", "-c", "%a %F", service.socket]) == "660 socket\n")
        let line = "listening again on unix:\(service.socket): the file of the socket had been removed"
        let told = service.stop().output.lines.filter { $0.contains(line) }
        #expect(told.count == 1)
    }
}
