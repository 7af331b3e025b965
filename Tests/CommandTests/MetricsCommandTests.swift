// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import nwpath

@Suite(.inNamespace) struct MetricsCommandTests {
    /// The names of the samples of a text.
    private func names(_ text: String) -> Set<Substring> {
        Set(text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { $0.prefix { $0 != "{" && $0 != " " } })
    }

    @Test func `prints what a scraper gets, in both forms`() async throws {
        let service = try Service()
        try await service.start()
        let text = try await service.ask("metrics")
        #expect(text.status == 0 && text.messages == "")
        #expect(try Command.run(["promtool", "check", "metrics"], input: text.output) == "")
        #expect(names(text.output).isSuperset(of: ["nwpath_path_satisfied", "process_open_fds"]))
        let open = try await service.ask("metrics", "--openmetrics")
        // The second scrape also tells how long the first one took.
        #expect(open.output.hasSuffix("# EOF\n") && names(open.output).isSuperset(of: names(text.output)))
    }

    @Test func `replaces a file as a whole, without what node_exporter has itself`() async throws {
        let service = try Service()
        try await service.start()
        let file = try service.scratch.write("old\n", to: "nwpath.prom")
        // Somebody who reads keeps the old file, since the new one has another inode.
        let before = try Command.run(["stat", "-c", "%i", file])
        let result = try await service.ask("metrics", "--write", file)
        #expect(result.status == 0 && result.output == "" && result.messages == "")
        let text = service.scratch.read("nwpath.prom")
        #expect(try Command.run(["stat", "-c", "%i", file]) != before)
        #expect(try Command.run(["stat", "-c", "%a", file]) == "644\n")
        #expect(try Command.run(["promtool", "check", "metrics"], input: text) == "")
        #expect(names(text).contains("nwpath_path_satisfied") && !text.contains("process_"))
        #expect(try Command.run(["ls", service.scratch.path]).contains("nwpath.prom.new") == false)
    }

    @Test(arguments: ["027", "077"])
    func `others can read the file whatever the umask is`(umask: String) async throws {
        let service = try Service()
        try await service.start()
        let file = service.scratch.file("nwpath.prom")
        let tool = service.tool
        let script = "umask \(umask); \"$@\""
        let result = try await tool.pipe(script, "metrics", "--write", file, "--socket", service.socket)
        #expect(result.status == 0 && result.messages == "")
        #expect(try Command.run(["stat", "-c", "%a", file]) == "644\n")
    }

    @Test func `node_exporter takes the file, and would complain of a bare copy`() async throws {
        let service = try Service()
        try await service.start()
        let scratch = service.scratch
        let script = """
            exec prometheus-node-exporter --collector.disable-defaults --collector.textfile \
            --collector.textfile.directory=\(scratch.path) --web.listen-address=127.0.0.1:9100 2>\(scratch.file("said"))
            """
        let exporter = try RunningCommand(["nsenter", "--net=\(Namespace.current.path)", "sh", "-c", script])
        func scrape() -> String {
            let curl = ["curl", "-s", "--max-time", "20", "http://127.0.0.1:9100/metrics"]
            return (try? Namespace.current.run(curl)) ?? ""
        }
        let file = scratch.file("nwpath.prom")
        #expect(try await service.ask("metrics", "--write", file).status == 0)
        await Namespace.current.loop.eventually("the metrics") { names(scrape()).contains("nwpath_path_satisfied") }
        #expect(scrape().contains("node_textfile_scrape_error 0\n"))
        #expect(!scratch.read("said").contains("process_open_fds"))
        _ = try scratch.write(try await service.ask("metrics").output, to: "nwpath.prom")
        await Namespace.current.loop.eventually("the complaint") {
            _ = scrape()
            return scratch.read("said").contains("process_open_fds")
        }
        withExtendedLifetime(exporter) {}
    }

    @Test func `says why a file cannot be written, and leaves nothing behind`() async throws {
        let service = try Service()
        try await service.start()
        let missing = try await service.ask("metrics", "--write", service.scratch.file("none/x.prom"))
        #expect(missing.status == 1)
        #expect(missing.messages.hasPrefix("nwpath: cannot write '") && missing.messages.contains("none/x.prom"))
        try Command.run(["mkdir", service.scratch.file("x.prom")])
        #expect(try await service.ask("metrics", "--write", service.scratch.file("x.prom")).status == 1)
        #expect(try Command.run(["ls", service.scratch.path]).contains("x.prom.new") == false)
    }

    @Test func `without a service there is no file`() async throws {
        let scratch = try Scratch()
        let tool = Tool(scratch: scratch)
        let words = ["metrics", "--write", scratch.file("x.prom"), "--socket", scratch.file("none.sock")]
        let result = try await tool.run(words)
        #expect(result.status == 4 && result.messages.contains("none.sock"))
        #expect(scratch.read("x.prom") == "")
    }

    @Test(
        arguments: [
            ("", ""), ("process_a 1\n", ""), ("nwpath_a 1\nprocess_b 2\nnwpath_c 3\n", "nwpath_a 1\nnwpath_c 3\n"),
            (
                "# HELP process_a A.\n# TYPE process_a gauge\nprocess_a 1\n# HELP x Of process_a.\nx 1\n",
                "# HELP x Of process_a.\nx 1\n"
            ),
            ("my_process_a 1\n# EOF\n", "my_process_a 1\n# EOF\n"),
        ]
    )
    func `leaves out the families of the process alone`(text: String, rest: String) {
        #expect(String(decoding: ExportMetrics.withoutProcess(Array(text.utf8)), as: UTF8.self) == rest)
    }
}
