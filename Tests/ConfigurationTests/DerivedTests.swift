// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Configuration

@Suite struct DerivedTests {
    @Test func `the default file reads back to the defaults and mentions every key`() throws {
        let text = Configuration.defaultFile(paths: rootPaths)
        #expect(try read(text) == Configuration(paths: rootPaths))
        for reference in Configuration.reference(paths: rootPaths) {
            let key = reference.key.split(separator: ".").last.map(String.init) ?? ""
            let isInExample = reference.key.contains("NAME") || reference.key.contains("[]")
            #expect(text.contains("\(key):") || isInExample)
            if !isInExample { #expect(text.contains("# \(reference.summary)\n")) }
        }
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 120 })
    }

    @Test func `the examples in the default file are right`() throws {
        let text = Configuration.defaultFile(paths: rootPaths)
        var lines: [Substring] = []
        for line in text.split(separator: "\n") {
            let isExample = line.hasPrefix("#   ") || (line.hasPrefix("# ") && line.hasSuffix(":"))
            lines.append(isExample ? line.dropFirst(2) : line)
        }
        let configuration = try read(lines.joined(separator: "\n"))
        #expect(configuration.interfaces.map(\.name) == ["wwan*", "eth0"])
        #expect(configuration.monitors.map(\.name) == ["wired", "free"])
        #expect(configuration.views.map(\.name) == ["vpn", "lte"])
    }

    @Test func `the schema allows exactly the keys there are`() throws {
        let schema = Configuration.schema(paths: rootPaths)
        #expect(schema["$schema"] == "https://json-schema.org/draft/2020-12/schema")
        let first: String? = if case .map(let members) = schema { members.first?.name } else { nil }
        #expect(first == "$schema")
        #expect(schema["additionalProperties"] == false)
        let log = try #require(schema["properties"]?["log"])
        #expect(log["additionalProperties"] == false)
        #expect(log["properties"]?["level"]?["enum"] == ["debug", "info"])
        #expect(log["properties"]?["level"]?["default"] == "info")
        #expect(log["properties"]?["keep"]?["maximum"] == 1000)
        let entry = try #require(schema["properties"]?["interfaces"]?["additionalProperties"])
        #expect(entry["properties"]?["required"]?["type"] == "boolean")
        #expect(entry["properties"]?["required"]?["default"] == nil)
    }

    @Test func `the schema refuses empty lists of addresses and incomplete items`() throws {
        let properties = try #require(Configuration.schema(paths: rootPaths)["properties"])
        #expect(properties["listen"]?["minItems"] == 1)
        #expect(properties["hosts"]?["minItems"] == nil)
        #expect(properties["probes"]?["properties"]?["ipv6"]?["minItems"] == 1)
        let items = properties["mdns"]?["properties"]?["advertise"]?["items"]
        #expect(items?["type"] == "object")
        #expect(items?["required"] == ["type", "port"])
        #expect(properties["diagnosis"]?["properties"]?["anchors"]?["items"]?["required"] == ["name"])
    }

    @Test func `the reference has what a manual page needs`() throws {
        let references = Configuration.reference(paths: rootPaths)
        let quiet = try #require(references.first { $0.key == "debounce.quiet" })
        #expect(quiet.standard == "100ms")
        #expect(quiet.variable == "NWPATH_DEBOUNCE_QUIET")
        #expect(quiet.summary == "A burst ends after this time without changes.")
        let required = try #require(references.first { $0.key == "interfaces.NAME.required" })
        #expect(required.standard == nil)
        #expect(required.variable == nil)
        #expect(references.allSatisfy { $0.summary.hasSuffix(".") && !$0.expectation.isEmpty })
        #expect(Set(references.map(\.key)).count == references.count)
    }

    @Test func `a reload tells what changed and what needs a restart`() throws {
        let old = try read("interfaces: {eth0: {required: true}, eth1: {}}\nviews: {a: {mark: 1}}")
        let new = try read(
            """
            listen: ["127.0.0.1:1"]
            debounce: {quiet: 0}
            interfaces: {eth0: {required: false, expensive: true}, eth1: {}}
            views: {b: {mark: 1}}
            """
        )
        let difference = new.difference(from: old)
        #expect(
            difference.changed == [
                "listen", "debounce.quiet", "interfaces.eth0.required", "interfaces.eth0.expensive", "views.b",
                "views.a",
            ]
        )
        #expect(difference.restartNeeded == ["listen"])
        #expect(new.difference(from: new).isEmpty)
    }

    @Test func `the order of patterns is a change`() throws {
        let old = try read("interfaces: {'a*': {expensive: true}, 'b*': {expensive: false}}")
        let new = try read("interfaces: {'b*': {expensive: false}, 'a*': {expensive: true}}")
        #expect(new.difference(from: old).changed == ["interfaces"])
    }
}
