// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import TestSupport
import Testing

@testable import StatusServer

/// The OpenAPI document against the router and the code.
@Suite(.inNamespace) struct APIDescriptionTests {
    private let fixture = APIFixture()
    private let description: JSONValue

    init() throws {
        description = try JSONValue(parsing: Array(try fixture.get("/api/v1/openapi.json").text.utf8))
    }

    private var paths: [JSONObject.Member] { description["paths"]?.object?.members ?? [] }

    @Test func `every route is described, and nothing else`() {
        #expect(description["openapi"]?.string == "3.1.0")
        for path in paths {
            let routes = Route.all.filter { $0.path == path.key }
            #expect(path.value.object?.keys == routes.map { $0.method.rawValue.lowercased() }, "\(path.key)")
        }
        #expect(Set(paths.map(\.key)) == Set(Route.all.map(\.path)))
    }

    @Test func `every problem is described, and each route names its own statuses`() {
        let types = description["components"]?["schemas"]?["Problem"]?["properties"]?["type"]?["enum"]?.array
        #expect(types?.compactMap(\.string).sorted() == Problem.Kind.allCases.map(\.rawValue).sorted())
        for path in paths {
            for operation in path.value.object?.members ?? [] {
                let statuses = operation.value["responses"]?.object?.keys ?? []
                for status in ["400", "401", "403", "405", "414", "421", "431", "500", "503"] {
                    #expect(statuses.contains(status), "\(status) of \(path.key)")
                }
                let isSocket = path.key == "/api/v1/events/ws"
                #expect(statuses.contains { $0.hasPrefix("2") || isSocket && $0 == "101" }, "\(path.key)")
            }
        }
    }

    @Test func `operations have names of their own`() {
        let names = paths.flatMap { $0.value.object?.members ?? [] }.compactMap { $0.value["operationId"]?.string }
        #expect(names.count >= paths.count && Set(names).count == names.count)
    }

    @Test func `a parameter is accepted exactly where it is described`() throws {
        let all = [
            "wait", "type", "name", "interface", "family", "since", "until", "limit", "event", "monitor", "state",
            "step",
            "x",
        ]
        // The page takes any, as those that trackers add to links.
        for path in paths where path.value["get"] != nil && path.key != "/" {
            let parameters = path.value["get"]?["parameters"]?.array ?? []
            let described = parameters.compactMap { parameter -> String? in
                let name = parameter["$ref"]?.string?.split(separator: "/").last.map(String.init)
                let resolved = name.flatMap { description["components"]?["parameters"]?[$0] } ?? parameter
                return resolved["in"]?.string == "query" ? resolved["name"]?.string : nil
            }
            let target = path.key.split(separator: "/", omittingEmptySubsequences: false)
                .map { $0.hasPrefix("{") ? "x" + ($0.split(separator: "}").dropFirst().first ?? "") : $0[...] }
                .joined(separator: "/")
            var fields = ["Accept": "application/json"]
            // Without these the WebSocket is refused before its parameters are looked at.
            if path.key == "/api/v1/events/ws" { fields = WebSocketRouteTests.fields }
            for name in all {
                let answer = try fixture.get("\(target)?\(name)=", fields)
                let isUnknown = answer.text.contains("Unknown parameter '\(name)'")
                #expect(isUnknown == !described.contains(name), "\(name) of \(path.key): \(answer.text)")
            }
        }
    }

    @Test func `the document and the schemas have tags`() throws {
        for target in ["/api/v1/openapi.json", "/api/v1/schema/status.json"] {
            let first = try fixture.get(target)
            let tag = try #require(first.field("ETag"))
            #expect(first.status == 200 && first.field("Content-Type") == "application/json")
            #expect(try fixture.get(target, ["If-None-Match": tag]).status == 304)
        }
        #expect(try fixture.get("/api/v1/schema/nothing.json").status == 404)
        #expect(try fixture.get("/api/v1/schema/.json").status == 404)
        #expect(try fixture.get("/api/v1/schema/config.json").text.contains("\"y\""))
    }

    @Test func `each component is a schema that stands alone`() throws {
        let names = description["components"]?["schemas"]?.object?.keys ?? []
        #expect(Set(["Status", "Problem", "Events", "Event", "Time", "Schema"]).isSubset(of: names))
        // The whole schema of events is another document.
        for name in names where name != "Event" {
            let text = try fixture.get("/api/v1/schema/\(name.lowercased()).json").text
            #expect(!text.contains("#/components/"))
            let schema = try JSONValue(parsing: Array(text.utf8))
            #expect(schema["$ref"]?.string == "#/$defs/\(name)" && schema["$defs"]?[name]?["type"] != nil)
        }
    }
}

@Suite(.inNamespace) struct BadgeTests {
    @Test func `a badge says the state in a word, a symbol and a colour`() throws {
        let fixture = APIFixture()
        let good = try fixture.get("/api/v1/badge/default.svg")
        #expect(good.status == 200 && good.field("Content-Type") == "image/svg+xml")
        #expect(good.field("Cache-Control") == "no-store")
        #expect(
            good.text.contains("<title>path default: online</title>") && good.text.contains("\u{2713} online")
        )
        let bad = try fixture.get("/api/v1/badge/wired.svg")
        #expect(bad.status == 200 && bad.text.contains("\u{2717} unsatisfied"))
        let none = try fixture.get("/api/v1/badge/none.svg")
        #expect(none.status == 404 && none.text.contains("/problems/unknown-monitor"))
        for target in ["/api/v1/badge/default", "/api/v1/badge/.svg", "/api/v1/badge/default.png"] {
            #expect(try fixture.get(target).text.contains("No such path"), "\(target)")
        }
    }

    @Test func `it is well-formed, whatever the length of the name`() throws {
        for name in ["a", "default", String(repeating: "w", count: 32)] {
            let picture = Badge(monitor: name, state: BadgeState("no internet", .bad)).picture
            let check =
                "import sys, xml.dom.minidom as m; print(m.parseString(sys.stdin.buffer.read()).documentElement.tagName)"
            #expect(try Command.run(["python3", "-c", check], input: picture) == "svg\n")
        }
    }
}
