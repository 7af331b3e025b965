// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// SIGTERM ends the service in order, whenever it comes.
@Suite(.inNamespace, .serialized) struct StoppingTests {
    @Test func `stopped at random moments, its start included, it leaves nothing behind`() async throws {
        try Uplink.make()
        let load = try Uplink.load()
        let loop = Namespace.current.loop
        let scratch = try Scratch()
        var inOrder = 0
        for _ in 0..<30 {
            let process = try Service.start(in: scratch)
            if .random() {
                await loop.eventually(within: .seconds(20), "listening") { scratch.exists("api.sock") }
            }
            await loop.sleep(for: .microseconds(.random(in: 0...80_000)))
            let begun = loop.clock.boot
            process.signal(SIGTERM)
            let code = process.wait()
            // Before it listens for signals the kernel ends it.
            #expect(code == 0 || code == 128 + SIGTERM)
            // A busy machine may take longer than the promised 2 s, but not every time.
            if code == 0 && loop.clock.boot - begun < .seconds(2) { inOrder += 1 }
            #expect(!scratch.exists("api.sock"))
        }
        withExtendedLifetime(load) {}
        #expect(inOrder > 3)
        let service = try await Service(in: scratch)
        _ = service.stop()
        try expectGood(service.log)
        let starts = try service.records("daemon.started").count
        #expect(try service.records("daemon.stopping").count == starts)
    }

    @Test(arguments: [(SIGTERM, "SIGTERM"), (SIGINT, "SIGINT")])
    func `streams end with the reason`(signal: Int32, name: String) async throws {
        let service = try await Service()
        let sse = try service.stream("/api/v1/events", to: "sse", ["-H", "Accept: text/event-stream"])
        let lines = try service.stream("/api/v1/events", to: "lines", ["-H", "Accept: application/x-ndjson"])
        let poll = try service.stream(
            "/api/v1/status?wait=30s",
            to: "poll",
            ["-H", "If-None-Match: \(try etag(of: service))"]
        )
        await Namespace.current.loop.eventually(within: .seconds(20), "three clients") {
            let metrics = (try? service.get("/metrics")) ?? ""
            return ["sse", "ndjson", "longpoll"].allSatisfy {
                metrics.contains("nwpath_event_stream_clients{transport=\"\($0)\"} 1\n")
            }
        }
        #expect(service.stop(signal).code == 0)
        for (process, file) in [(sse, "sse"), (lines, "lines")] {
            #expect(process.wait() == 0)
            let text = try service.scratch.text(file)
            #expect(text.contains(#""event":"daemon.stopping""#) && text.contains(name))
            #expect(file == "lines" || text.contains("daemon_stopping"))
        }
        #expect(poll.wait() == 0)
        #expect(try service.records("daemon.stopping").first?["daemon"]?["signal"]?.string == name)
    }

    @Test func `the configuration is not read again for who asks while it stops`() async throws {
        let scratch = try Scratch()
        let configuration = try scratch.write("", to: "nwpath.yaml")
        let service = try await Service(["--config", configuration], in: scratch)
        let lateRequest = """
            import os, signal, socket, struct, sys, time
            client = socket.socket(socket.AF_UNIX)
            client.connect(sys.argv[1])
            head = "POST /-/reload HTTP/1.1", "Host: localhost", "Expect: 100-continue", "Content-Length: 2"
            client.sendall("\\r\\n".join(head + ("", "")).encode())
            assert b" 100 " in client.recv(4096)
            owner = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
            with open(sys.argv[2], "a") as file: print("log: {keep: 9}", file=file)
            os.kill(owner, signal.SIGTERM)
            while os.path.exists(sys.argv[1]): time.sleep(0.002)
            os.kill(owner, signal.SIGHUP)
            client.sendall(b"{}")
            print(client.makefile().read())
            """
        let answer = try Place.python(["-c", lateRequest, service.socket, configuration])
        #expect(
            answer.hasPrefix("HTTP/1.1 503 ") && answer.contains("The service is not ready: the service is stopping.")
        )
        #expect(service.process.wait() == 0)
        #expect(try service.records("config.reloaded").isEmpty)
    }

    private func etag(of service: Service) throws -> String {
        let head = try service.get("/api/v1/status", ["-D", "-", "-o", "/dev/null"])
        let line = try #require(head.split(whereSeparator: \.isNewline).first { $0.lowercased().hasPrefix("etag:") })
        return String(line.dropFirst(5)).split(separator: " ").joined()
    }
}
