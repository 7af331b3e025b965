// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import ServiceSupport
import TestSupport
import Testing

@testable import nwpath

/// `nwpath diagnose` in the network of `Tests/Lab`: each fault gives its own verdicts and no other.
@Suite(.inNamespaceAtOnce) struct LabTests {
    private static var script: String {
        "/" + #filePath.split(separator: "/").dropLast(2).joined(separator: "/") + "/Lab/lab"
    }

    /// The faults, dealt into as many hands as there are labs at a time.
    private static let hands: [[String]] = {
        let listed = (try? Command.run([script, "list"])) ?? ""
        let names = listed.split(separator: "\n").compactMap { $0.split(separator: " ").first.map(String.init) }
        return (0..<4).map { hand in names.indices.filter { $0 % 4 == hand }.map { names[$0] } }
    }()

    private static func check(_ faults: [String], _ options: [String] = []) async throws -> [JSONValue] {
        let words = [script, "check", "--documents", "--binary", try BuiltProgram.path()] + options + faults
        let scratch = try Scratch()
        let lab = try RunningCommand(
            ["sh", "-c", "\"$@\" >\"$0.out\" 2>\"$0.err\"; echo $? >\"$0.rc\"", scratch.file("lab")] + words
        )
        await Namespace.current.loop.eventually(within: .seconds(400), "the end of the lab") {
            scratch.read("lab.rc").hasSuffix("\n")
        }
        withExtendedLifetime(lab) {}
        #expect(scratch.read("lab.err").isEmpty, "\(scratch.read("lab.err"))")
        let lines = LiveJSON.check(scratch.read("lab.out"), by: .command).split(separator: "\n")
        return try lines.map { try JSONValue(parsing: String($0)) }.filter { $0["fault"] != nil }
    }

    private static func judge(_ results: [JSONValue], of faults: [String]) {
        #expect(results.map { $0["fault"]?.string } == faults)
        for result in results {
            let fault = result["fault"]?.string ?? ""
            let told = result.list("says").compactMap(\.string) + [result.text("complaint")]
            #expect(result["right"]?.bool == true, "\(fault): \(result.texts("found")) \(told)")
            // What one examination may take.
            #expect(result["seconds"]?.double ?? 99 < 15, "\(fault)")
            let isLoaded = result["load"]?.object != nil
            #expect(result["bytes"]?.int ?? 0 < (isLoaded ? 40_160_000 : 160_000), "\(fault)")
        }
    }

    @Test func `there are faults of every layer, and networks without one`() {
        let names = Self.hands.flatMap(\.self)
        #expect(names.count > 35)
        for layer in [
            "link.", "addr.", "route.", "gateway.", "captive.", "dns.", "transport.", "target.", "compound.",
            "destination.",
        ] {
            #expect(names.contains { $0.hasPrefix(layer) }, "\(layer)")
        }
        #expect(names.contains("healthy") && names.contains("icmp-filtered") && names.contains("healthy-under-load"))
    }

    @Test func `the table of what others say has a row for every fault without a destination`() throws {
        let root = Self.script.split(separator: "/").dropLast(3).joined(separator: "/")
        let text = try Command.run(["cat", "/\(root)/docs/diagnosis.md"]).split(separator: "\n")
        let start = try #require(text.firstIndex { $0.hasPrefix("| fault |") })
        let rows = text[(start + 2)...].prefix { $0.hasPrefix("| ") }
        let names = rows.map { String($0.dropFirst(2).prefix { $0 != " " }) }
        let faults = Self.hands.joined().filter { !$0.hasPrefix("destination.") }
        #expect(Set(names) == Set(faults) && names.count == faults.count)
    }

    @Test(arguments: 0..<4)
    func `each fault gives its verdicts and no other`(hand: Int) async throws {
        let faults = Self.hands[hand]
        Self.judge(try await Self.check(faults), of: faults)
    }

    @Test func `a program that hardly gets to run accuses nobody, and still finds what is wrong`() async throws {
        let faults = ["healthy", "gateway.unresolved", "dns.servfail"]
        let results = try await Self.check(faults, ["--starved"])
        #expect(results.map { $0["fault"]?.string } == faults)
        for result in results {
            #expect(result["right"]?.bool == true, "\(result.text("fault")): \(result.texts("found"))")
        }
    }

    @Test func `what the kernel remembers of a gateway is no answer of it`() async throws {
        let results = try await Self.check(["healthy", "gateway.unresolved"], ["--unprivileged"])
        #expect(results.first?["right"]?.bool == true, "\(results)")
        let gone = try #require(results.last)
        #expect(gone.texts("found") == ["wan.down"], "\(gone)")
        #expect(gone.texts("says") == ["neither the gateway nor anything beyond it answers"], "\(gone)")
    }

    @Test func `the same with other addresses and names`() async throws {
        let faults = [
            "healthy", "gateway.unresolved", "dns.server-dead", "ipv6.broken", "captive.portal", "route.blackhole",
            "destination.page", "destination.no-such-name", "destination.route-discarded", "destination.port-silent",
        ]
        Self.judge(try await Self.check(faults, ["--other"]), of: faults)
    }
}
