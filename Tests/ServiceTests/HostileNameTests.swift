// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import Glibc
import LinuxIO
import OrderedJSON
import Spelling
import ServiceSupport
import TestSupport
import Testing

/// Names that strangers on the link may choose, taken through everything that shows names.
@Suite(.inNamespace) struct HostileNameTests {
    private var loop: EventLoop { Namespace.current.loop }

    private static let names: [[UInt8]] =
        [
            "line\nfeed", "carriage\rreturn", "tab\there", "\u{1B}[2J\u{1B}]0;title\u{07}", "bell\u{07}back\u{08}",
            "quote\"and\\backslash", "'; rm -rf /; '", "$(reboot)`reboot`", "</script><img src=x onerror=alert(1)>",
            "}\n{\"event\":\"forged\",\"seq\":1}", "x\n\nevent: forged\ndata: {}\n\n", "# HELP x\nx{a=\"b\"} 1\n",
            "right\u{202E}left", "isolate\u{2066}d\u{2069}", "bom\u{FEFF}", "line\u{2028}separator\u{2029}",
            "c1\u{9B}31m", "del\u{7F}", "soft\u{AD}hyphen", "zero\u{200B}width", "tag\u{E0041}", "dots.in..names.",
            " spaces at both ends ", "日本語プリンタ", "emoji 👩‍👩‍👧‍👦", "Zal\u{0363}\u{036B}go", "%s%n%x%00%2F../..",
            "null", "true", "0", "{}", "[]", "*", "a/b", "a?b#c&d=e", "\u{0130}stanbul", "ﬁ ligature",
            String(repeating: "W", count: 63),
        ].map { Array($0.utf8) } + [
            [0xFF, 0xFE, 0x80], [0x00], [0x61, 0x00, 0x62], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80],
            [0x5C], [0x2E], [0xE2, 0x80],
        ]

    private static let shown = names.map { SafeText.text(of: $0) }

    private func offers() -> [Neighbour.Offer] {
        Self.names.enumerated().map { number, name in
            Neighbour.Offer(bytes: name, "_test._tcp").with {
                $0.text = [Array("k=".utf8) + name, Array("\(number)=".utf8), name]
                $0.host = name
            }
        }
    }

    /// No control character, nothing that turns the direction of writing, nothing invisible.
    private func expectSafe(_ text: String, _ sink: String) {
        let bad = text.unicodeScalars.filter { $0 != "\n" && PrintableText.isUnsafe($0) }
        #expect(bad.isEmpty, "\(sink): \(bad.map { String($0.value, radix: 16) })")
    }

    private func run(_ service: Service, _ words: String...) throws -> String {
        let inside = ["nsenter", "--net=\(Namespace.current.path)", try Place.program]
        return try RunningCommand(inside + words + ["--socket", service.socket], captures: true).finish()
    }

    @Test func `no sink can be tricked by a name`() async throws {
        let neighbour = try Neighbour()
        let scratch = try Scratch()
        try scratch.write("mdns: {watched: ['_test._tcp/quote\"and\\backslash', '_test._tcp/}{']}\n", to: "nwpath.yaml")
        let service = try await Service(["--config", scratch.file("nwpath.yaml")], in: scratch, takesCensus: true)
        let stream = try service.stream(
            "/api/v1/events?event=service.*",
            to: "stream",
            ["-H", "Accept: text/event-stream"]
        )
        let lines = try service.stream("/api/v1/events", to: "lines", ["-H", "Accept: application/x-ndjson"])
        try neighbour.offer(offers(), in: scratch)
        try await loop.eventually(within: .seconds(60), "all services") {
            try service.json("/api/v1/services").document.count >= Self.names.count
        }
        try expectDocuments(service)
        try expectStreams(service)
        try expectMetrics(service)
        try expectTerminal(service)
        #expect(service.stop().output.lines.allSatisfy { $0.hasPrefix("nwpath: ") })
        for line in try scratch.text("services.jsonl").lines {
            #expect(try JSONValue(parsing: line).object != nil)
            expectSafe(line, "history")
        }
        withExtendedLifetime((stream, lines)) {}
    }

    private func expectDocuments(_ service: Service) throws {
        let text = try service.get("/api/v1/services")
        #expect(text.unicodeScalars.filter { $0.value < 0x20 } == ["\n"])
        let services = try JSONValue(parsing: text).document
        #expect(Set(services.compactMap { $0["name"]?.string }) == Set(Self.shown))
        for (name, shown) in zip(Self.names, Self.shown) {
            let document = services.first { $0["name"]?.string == shown }
            #expect(document?["txt_raw"]?.array?.last?.string == shown, "\(shown)")
            // Either spelling finds it; what is no UTF-8 or has a NUL cannot be written in a URL but as shown.
            var spellings = [shown]
            if let text = String(validating: name, as: UTF8.self), !name.contains(0) { spellings.append(text) }
            for spelling in spellings {
                let path = "/api/v1/services/_test._tcp/\(spelling.percentEncoded)"
                #expect(try service.json(path).document.contains { $0["name"]?.string == shown }, "\(path)")
            }
        }
        let targets = try service.json("/api/v1/sd/prometheus?type=_test._tcp").array ?? []
        #expect(Set(targets.compactMap { $0["labels"]?["__meta_nwpath_name"]?.string }) == Set(Self.shown))
        #expect(targets.allSatisfy { $0["targets"]?.array == [.string("192.0.2.1:9100")] })
        let past = try service.json("/api/v1/services/history").document
        #expect(Set(past.compactMap { $0["name"]?.string }) == Set(Self.shown))
    }

    private func expectStreams(_ service: Service) throws {
        // Each line of server-sent events is a field, a comment or empty; a forged one would stand alone.
        let fields = ["id: ", "event: service.", "event: service_type.", "data: {", "retry: ", ":"]
        let stream = try service.scratch.text("stream")
        for line in stream.lines { #expect(fields.contains { line.hasPrefix($0) }, "\(line)") }
        #expect(stream.lines.count { $0 == "event: service.added" } == Self.names.count)
        for line in try service.scratch.text("lines").lines { #expect(try JSONValue(parsing: line)["seq"] != nil) }
        let records = try service.records()
        let sequence = records.compactMap { $0["seq"]?.uint64 }
        #expect(sequence == Array((sequence.first ?? 0)..<(sequence.first ?? 0) + UInt64(records.count)))
        #expect(try service.records("service.added").count == Self.names.count)
        #expect(try service.records("forged").isEmpty)
        for record in records { expectSafe(record["message"]?.string ?? "", "message") }
        try RunningCommand([try Place.program, "log", "verify", service.log], captures: true).finish()
    }

    private func expectMetrics(_ service: Service) throws {
        let metrics = try service.get("/metrics")
        #expect(try Command.run(["promtool", "check", "metrics"], input: metrics) == "")
        let start = "nwpath_mdns_watched_service_up{service_type=\"_test._tcp\",service_name="
        #expect(
            metrics.lines.filter { $0.hasPrefix(start) } == [
                start + #""quote\"and\\backslash"} 1"#, start + #""}{"} 0"#,
            ]
        )
        #expect(metrics.lines.contains("nwpath_mdns_services{service_type=\"_test._tcp\"} \(Self.names.count)"))
    }

    private func expectTerminal(_ service: Service) throws {
        for words in [["services", "-v"], ["services", "--json"], ["watch", "--no-follow", "--since", "1h"]] {
            let inside = ["nsenter", "--net=\(Namespace.current.path)", try Place.program]
            let command = try RunningCommand(inside + words + ["--socket", service.socket], captures: true)
            expectSafe(LiveJSON.check(try command.finish()), words.joined(separator: " "))
        }
        let text = try run(service, "services")
        #expect(text.lines.count == Self.names.count + 1)
    }
}

extension JSONValue {
    /// The services of a list.
    fileprivate var document: [JSONValue] { self["services"]?.array ?? [] }
}
